/**
 * Finds the keyframe at the beginning of a segment, and the configuration that a decoder needs for it.
 */
import { VIDEO_FIELDS_BYTES } from '#media/codecs/video-sample-entry.ts';
import type { VideoCodec } from '#media/track.ts';
import { BOX_HEADER_BYTES, BoxReader } from './box-reader.ts';
import { readFragment } from './fragment-reader.ts';
import { readInit } from './init-reader.ts';

/** The boxes in sample entries that hold decoder configurations, with their codecs. */
const CODECS: ReadonlyMap<string, VideoCodec> = new Map([
  ['avcC', 'h264'],
  ['hvcC', 'h265'],
  ['av1C', 'av1'],
]);

/** A frame that can be decoded by itself. */
export interface FirstKeyframe {
  readonly codec: VideoCodec;
  /** The body of `avcC`, `hvcC` or `av1C`. */
  readonly config: Uint8Array;
  /** Displayed size in pixels. */
  readonly width: number;
  readonly height: number;
  /** The bytes of the sample. */
  readonly data: Uint8Array;
}

/**
 * Finds the first frame of a segment.
 * @param init the segment's init segment
 * @param segment its bytes, at least up to the end of the first frame
 * @returns the frame, as views of the given bytes; undefined when it is not a keyframe, not video, or not whole
 * @throws {MalformedMp4Error} when this server would not have written such bytes
 */
export function firstKeyframe(init: Uint8Array, segment: Uint8Array): FirstKeyframe | undefined {
  const { kind, width, height, sampleEntry, defaults } = readInit(init);
  if (kind !== 'video') return undefined;
  const { keyframes, sizes, moofBytes } = readFragment(segment, defaults);
  const from = moofBytes + BOX_HEADER_BYTES;
  const until = from + sizes[0]!;
  if (keyframes[0] !== 1 || until > segment.length) return undefined;
  const entry = new BoxReader(sampleEntry).box().content;
  entry.skip(VIDEO_FIELDS_BYTES);
  while (entry.remaining > 0) {
    const { type, bytes } = entry.box();
    const codec = CODECS.get(type);
    const config = bytes.subarray(BOX_HEADER_BYTES);
    if (codec !== undefined) return { codec, config, width, height, data: segment.subarray(from, until) };
  }
  return undefined;
}
