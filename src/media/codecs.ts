/**
 * The list of codecs that Millrace supports, with one entry for each.
 */
import { aacSampleEntry, parseAudioSpecificConfig } from './codecs/aac.ts';
import { av1SampleEntry, parseAv1Config, temporalUnitReader } from './codecs/av1.ts';
import { avcSampleEntry, avcUnitReader, parseAvcConfig } from './codecs/h264.ts';
import { hevcSampleEntry, hevcUnitReader, parseHevcConfig } from './codecs/h265.ts';
import { opusSampleEntry, opusSamples, parseOpusHead } from './codecs/opus.ts';
import type { Piece } from './mp4/box.ts';
import type { AudioTrack, Track, VideoTrack } from './track.ts';
import type { UnitContent } from './unit-content.ts';

/** An access unit, and what its reader found in it. */
export interface AccessUnit extends UnitContent {
  /** The bytes for the packet: those that were read, for AV1 without temporal delimiters. */
  readonly data: Uint8Array;
}

/**
 * Reads the access units of one track, which must be given in their order.
 * @throws {MalformedAccessUnitError} when an access unit is broken, as far as this shows without decoding, or contains a parameter set that
 *   is not acceptable. Such a unit must not reach a decoder.
 */
export type AccessUnitReader = (data: Uint8Array) => AccessUnit;

/** A codec, as the rest of Millrace uses it. */
export interface Codec<T extends Track = Track> {
  readonly name: T['codec'];
  readonly kind: T['kind'];
  /** @throws {InvalidCodecConfigError} when the configuration is broken, or describes media that Millrace does not play */
  parseConfig(config: Uint8Array): T;
  /** Makes a reader for one track. It remembers what earlier access units stated. */
  accessUnitReader(track: T): AccessUnitReader;
  /** The box that describes the track in an init segment's `stsd`. */
  sampleEntry(track: T): Piece;
}

const h264: Codec<VideoTrack> = {
  name: 'h264',
  kind: 'video',
  parseConfig: parseAvcConfig,
  accessUnitReader(track) {
    const read = avcUnitReader(track);
    return (data) => ({ ...read(data), data });
  },
  sampleEntry: avcSampleEntry,
};

const h265: Codec<VideoTrack> = {
  name: 'h265',
  kind: 'video',
  parseConfig: parseHevcConfig,
  accessUnitReader(track) {
    const read = hevcUnitReader(track);
    return (data) => ({ ...read(data), data });
  },
  sampleEntry: hevcSampleEntry,
};

const av1: Codec<VideoTrack> = {
  name: 'av1',
  kind: 'video',
  parseConfig: parseAv1Config,
  accessUnitReader: temporalUnitReader,
  sampleEntry: av1SampleEntry,
};

const aac: Codec<AudioTrack> = {
  name: 'aac',
  kind: 'audio',
  parseConfig: parseAudioSpecificConfig,
  accessUnitReader: () => (data) => ({ keyframe: true, empty: false, data }),
  sampleEntry: aacSampleEntry,
};

const opus: Codec<AudioTrack> = {
  name: 'opus',
  kind: 'audio',
  parseConfig: parseOpusHead,
  accessUnitReader: () => (data) => {
    opusSamples(data);
    return { keyframe: true, empty: false, data };
  },
  sampleEntry: opusSampleEntry,
};

/** Every supported codec, in no particular order. */
export const CODECS: readonly Codec[] = [h264, h265, av1, aac, opus];

/** Finds a codec by its name. */
export function codecOf(name: Track['codec']): Codec {
  return CODECS.find((codec) => codec.name === name)!;
}

/**
 * The duration of a packet, in samples.
 * @param data an access unit that the reader of the track has accepted
 */
export function packetSamples(track: AudioTrack, data: Uint8Array): number {
  return track.codec === 'opus' ? opusSamples(data) : track.samplesPerPacket;
}
