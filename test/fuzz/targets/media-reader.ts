/**
 * The reader of a publish's messages: configurations, frames and metadata in any order.
 */
import { Allowance } from '#ingest/rtmp/allowance.ts';
import { FaultCounter } from '#ingest/rtmp/fault-counter.ts';
import { MediaReader, UnplayableMediaError } from '#ingest/rtmp/media-reader.ts';
import { RtmpError } from '#media/rtmp/rtmp-error.ts';
import { CheckedPublication } from '../checked-publication.ts';
import { ENHANCED_AUDIO, ENHANCED_DICTIONARY, ENHANCED_VIDEO } from '../enhanced-corpus.ts';
import { AUDIO_TAGS, METADATA, VIDEO_TAGS } from '../recorded.ts';
import type { Target } from '../target.ts';

/** The header of each message in an input: its type in 8 bits, its timestamp in 32, its length in 16. */
const HEADER_BYTES = 7;
const MAX_NEW_STARTS = 10;

/** A frame whose presentation time is 40 ms before its decoding time, as some encoders state for still images. */
const LATE_FRAME = Buffer.from(VIDEO_TAGS[1]!);
LATE_FRAME.writeIntBE(-40, 2, 3);

/** The publication must receive what its contract allows. */
export const mediaReaderTarget: Target = {
  name: 'media-reader',
  corpus: [
    publish([18, METADATA[0]!], [9, VIDEO_TAGS[0]!], [8, AUDIO_TAGS[0]!], [9, VIDEO_TAGS[1]!], [8, AUDIO_TAGS[1]!]),
    publish([9, VIDEO_TAGS[0]!], [9, VIDEO_TAGS[2]!], [9, ENHANCED_VIDEO[0]!], [9, ENHANCED_VIDEO[2]!]),
    publish([9, VIDEO_TAGS[0]!], [9, LATE_FRAME], [9, VIDEO_TAGS[1]!]),
    publish([9, ENHANCED_VIDEO[3]!], [9, ENHANCED_VIDEO[4]!], [9, ENHANCED_VIDEO[5]!], [9, ENHANCED_VIDEO[7]!]),
    publish([8, ENHANCED_AUDIO[0]!], [8, ENHANCED_AUDIO[1]!], [8, ENHANCED_AUDIO[3]!], [8, AUDIO_TAGS[0]!]),
  ],
  dictionary: [
    ...ENHANCED_DICTIONARY,
    Uint8Array.of(9, 0xff, 0xff, 0xff, 0xff),
    Uint8Array.of(8, 0x7f, 0xff, 0xff, 0xff),
  ],
  maxBytes: 4096,
  expected: [UnplayableMediaError, RtmpError],
  open: () => ({
    read(input) {
      const publication = new CheckedPublication();
      const newStarts = new Allowance(MAX_NEW_STARTS, 'changes of configuration');
      const reader = new MediaReader(publication, { faults: new FaultCounter(), newStarts });
      for (let at = 0; at + HEADER_BYTES <= input.length; ) {
        const start = at + HEADER_BYTES;
        const end = start + input.readUInt16BE(at + 5);
        reader.read({
          type: input[at]!,
          timestamp: input.readUInt32BE(at + 1),
          streamId: 1,
          chunkStreamId: 4,
          payload: input.subarray(start, end),
        });
        at = end;
      }
      return publication.behaviour;
    },
  }),
};

/** Makes an input of messages that are 40 ms apart. */
function publish(...messages: readonly (readonly [type: number, body: Buffer])[]): Buffer {
  return Buffer.concat(
    messages.flatMap(([type, body], index) => {
      const header = Buffer.alloc(HEADER_BYTES);
      header[0] = type;
      header.writeUInt32BE(index * 40, 1);
      header.writeUInt16BE(body.length, 5);
      return [header, body];
    }),
  );
}
