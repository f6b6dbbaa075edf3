/**
 * The frames by which the process that draws the test picture hands over its media: each a type of `framing.ts` and its payload.
 */

import { ticks } from '#lib/units.ts';
import { parseAudioSpecificConfig } from '#media/codecs/aac.ts';
import { parseAvcConfig } from '#media/codecs/h264.ts';
import type { Packet } from '#media/packet.ts';
import type { Track } from '#media/track.ts';
import { FramingError, frameHeader, type StreamFrame } from './framing.ts';

/** The types of frames. */
const TYPES = { videoConfig: 1, audioConfig: 2, video: 3, audio: 4 } as const;

/** The name of a type of frame. */
export type TestPictureFrame = keyof typeof TYPES;

const KEYFRAME = 1;
/** flags, pts, dts */
const HEADER_BYTES = 17;

/** What a frame holds. */
export type TestMedia =
  | { readonly type: 'track'; readonly track: Track }
  | { readonly type: 'packet'; readonly packet: Packet };

/** Encodes a track's configuration. */
export const encodeConfig = (type: 'videoConfig' | 'audioConfig', config: Uint8Array): readonly Uint8Array[] => [
  frameHeader(TYPES[type], config.byteLength),
  config,
];

/** Encodes a packet. Times are in ticks of its track. */
export function encodeMedia(
  type: 'video' | 'audio',
  {
    pts,
    dts,
    keyframe,
    data,
  }: { readonly pts: number; readonly dts: number; readonly keyframe: boolean; readonly data: Uint8Array },
): readonly Uint8Array[] {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = keyframe ? KEYFRAME : 0;
  header.writeBigInt64BE(BigInt(pts), 1);
  header.writeBigInt64BE(BigInt(dts), 9);
  return [frameHeader(TYPES[type], HEADER_BYTES + data.byteLength), header, data];
}

/**
 * Decodes a frame.
 * @throws {FramingError} when the frame is malformed or of an unknown type
 * @throws {InvalidCodecConfigError} when the configuration of a track is broken
 */
export function decodeTestMedia({ type, payload }: StreamFrame): TestMedia {
  switch (type) {
    case TYPES.videoConfig:
      return { type: 'track', track: parseAvcConfig(Uint8Array.from(payload)) };
    case TYPES.audioConfig:
      return { type: 'track', track: parseAudioSpecificConfig(Uint8Array.from(payload)) };
    case TYPES.video:
    case TYPES.audio:
      return { type: 'packet', packet: packetOf(type === TYPES.video ? 'video' : 'audio', payload) };
    default:
      throw new FramingError(`There is no frame of the type ${type}.`);
  }
}

function packetOf(kind: Packet['kind'], payload: Buffer): Packet {
  if (payload.length <= HEADER_BYTES) throw new FramingError('A packet has no data.');
  const [pts, dts] = [Number(payload.readBigInt64BE(1)), Number(payload.readBigInt64BE(9))];
  // A copy, because the payload may be a view of a larger chunk.
  const data = Uint8Array.from(payload.subarray(HEADER_BYTES));
  return { kind, pts: ticks(pts), dts: ticks(dts), keyframe: payload[0] === KEYFRAME, data };
}
