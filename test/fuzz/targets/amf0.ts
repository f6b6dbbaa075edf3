/**
 * AMF0: values of a message, read, written and read again.
 */
import { isDeepStrictEqual } from 'node:util';
import { type AmfValue, decodeAmf0, encodeAmf0 } from '#ingest/rtmp/amf0.ts';
import { RtmpError } from '#ingest/rtmp/rtmp-error.ts';
import { METADATA } from '../recorded.ts';
import { AMF_DICTIONARY, COMMANDS } from '../rtmp-corpus.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** There are no more values than bytes, and what is written again reads the same. */
export const amf0Target: Target = {
  name: 'amf0',
  corpus: [...METADATA, ...COMMANDS],
  dictionary: AMF_DICTIONARY,
  maxBytes: 1024,
  expected: [RtmpError],
  open: () => ({
    read(input) {
      const values = decodeAmf0(input);
      const count = countOf(values) - 1;
      must(count <= input.length, () => `${count} values in ${input.length} bytes`);
      must(isDeepStrictEqual(decodeAmf0(encodeAmf0(...values)), values), () => 'written again, it reads otherwise');
      return behaviour(magnitude(count), values.length, typeof values[0] === 'string' ? values[0].length : -1);
    },
  }),
};

function countOf(value: AmfValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const entry of value.values()) count += countOf(entry as AmfValue);
  return count;
}
