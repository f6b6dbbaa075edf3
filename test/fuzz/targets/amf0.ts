/**
 * The reader and writer of AMF0.
 */
import { isDeepStrictEqual } from 'node:util';
import { type AmfValue, decodeAmf0, encodeAmf0 } from '#media/rtmp/amf0.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { METADATA } from '../recorded.ts';
import { AMF_DICTIONARY, COMMANDS } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** Makes arrays nested in arrays. */
const nested = (depth: number) =>
  Buffer.concat([...Array.from({ length: depth }, () => Buffer.of(10, 0, 0, 0, 1)), Buffer.of(5)]);
/** The deepest nesting that the reader accepts, with the list of all values as the outermost level. */
const MAX_DEPTH = 18;

/** There are no more values than bytes, they nest no deeper than the limit, and values that are written again read the same. */
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
      must(
        isDeepStrictEqual(decodeAmf0(encodeAmf0(...values)), values),
        () => 'written again, the values read differently',
      );
      return behaviour(magnitude(count), depth, values.length, typeof values[0] === 'string' ? values[0].length : -1);
    },
  }),
};

/** Counts values, the outermost one included, and how deep they nest. */
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
