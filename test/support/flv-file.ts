/**
 * Reads FLV files as tags, which an RTMP publisher sends as messages.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One tag. It has the type, timestamp and body of an RTMP message. */
export interface FlvFileTag {
  /** 8 audio, 9 video, 18 data. */
  readonly type: number;
  /** Milliseconds. */
  readonly timestamp: number;
  readonly body: Buffer;
}

const FILE_HEADER_BYTES = 9;
const TAG_HEADER_BYTES = 11;
const PREVIOUS_SIZE_BYTES = 4;

/** Every tag of an FLV file. */
export function readFlvTags(flv: Buffer): FlvFileTag[] {
  const tags: FlvFileTag[] = [];
  for (let at = FILE_HEADER_BYTES + PREVIOUS_SIZE_BYTES; at + TAG_HEADER_BYTES <= flv.length; ) {
    const start = at + TAG_HEADER_BYTES;
    const end = start + flv.readUIntBE(at + 1, 3);
    const timestamp = flv.readUIntBE(at + 4, 3) + flv[at + 7]! * 2 ** 24;
    tags.push({ type: flv[at]!, timestamp, body: flv.subarray(start, end) });
    at = end + PREVIOUS_SIZE_BYTES;
  }
  return tags;
}

/** The tags of `test/fixtures/rtmp/h264-aac.flv`: metadata, both configurations, two seconds of video and audio. */
export function fixtureTags(): FlvFileTag[] {
  return readFlvTags(readFileSync(join(import.meta.dirname, '../fixtures/rtmp/h264-aac.flv')));
}
