/**
 * The codecs Millrace knows: a list, one entry a codec.
 */
import { aacSampleEntry, parseAudioSpecificConfig } from './codecs/aac.ts';
import { avcSampleEntry, parseAvcConfig } from './codecs/h264.ts';
import type { Piece } from './mp4/box.ts';
import type { Track } from './track.ts';

/** What the rest of Millrace asks of a codec. */
export interface Codec<T extends Track = Track> {
  readonly name: T['codec'];
  readonly kind: T['kind'];
  /** @throws {InvalidCodecConfigError} when the configuration is broken or describes what is not played */
  parseConfig(config: Uint8Array): T;
  /** The box that describes the track in an init segment's `stsd`. */
  sampleEntry(track: T): Piece;
}

const h264: Codec<Extract<Track, { codec: 'h264' }>> = {
  name: 'h264',
  kind: 'video',
  parseConfig: parseAvcConfig,
  sampleEntry: avcSampleEntry,
};

const aac: Codec<Extract<Track, { codec: 'aac' }>> = {
  name: 'aac',
  kind: 'audio',
  parseConfig: parseAudioSpecificConfig,
  sampleEntry: aacSampleEntry,
};

/** Every codec, by no particular order. */
export const CODECS: readonly Codec[] = [h264, aac];

/** The codec of a name. */
export function codecOf(name: Track['codec']): Codec {
  return CODECS.find((codec) => codec.name === name)!;
}
