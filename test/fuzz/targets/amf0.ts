/**
 * AMF0: values of a message, read, written and read again.
 */
import { isDeepStrictEqual } from 'node:util';
import { type AmfValue, decodeAmf0, encodeAmf0 } from '#ingest/rtmp/amf0.ts';
import { RtmpError } from '#ingest/rtmp/rtmp-error.ts';
import { METADATA } from '../recorded.ts';
import { AMF_DICTIONARY, COMMANDS } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** Arrays in arrays. */
const nested = (depth: number) =>
  Buffer.concat([...Array.from({ length: depth }, () => Buffer.of(10, 0, 0, 0, 1)), Buffer.of(5)]);
/** The list of all values, and in it arrays whose entries are 16 deep at most. */
const MAX_DEPTH = 18;

/** There are no more values than bytes, they nest no deeper than any code minds, and what is written again reads the same. */
export const amf0Target: Target = {
  name: 'amf0',
  corpus: [...METADATA, ...COMMANDS, nested(16), nested(100)],
  dictionary: AMF_DICTIONARY,
  maxBytes: 1024,
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const values = decodeAmf0(input);
      const { count, depth } = extentOf(values);
      must(count <= input.length + 1, () => `${count} values in ${input.length} bytes`);
      must(depth <= MAX_DEPTH, () => `values nest ${depth} deep`);
      must(isDeepStrictEqual(decodeAmf0(encodeAmf0(...values)), values), () => 'written again, it reads otherwise');
      return behaviour(magnitude(count), depth, values.length, typeof values[0] === 'string' ? values[0].length : -1);
    },
  }),
};

/** How many values there are, the list itself included, and how deep they nest. */
function extentOf(value: AmfValue): { readonly count: number; readonly depth: number } {
  if (typeof value !== 'object' || value === null) return { count: 1, depth: 0 };
  let [count, depth] = [1, 0];
  for (const entry of value.values()) {
    const inner = extentOf(entry as AmfValue);
    count += inner.count;
    depth = Math.max(depth, inner.depth);
  }
  return { count, depth: depth + 1 };
}
