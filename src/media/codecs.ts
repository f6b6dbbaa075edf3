/**
 * The codecs Millrace knows: a list, one entry a codec.
 */
import { aacSampleEntry, parseAudioSpecificConfig } from './codecs/aac.ts';
import { av1SampleEntry, parseAv1Config, temporalUnitReader } from './codecs/av1.ts';
import { avcSampleEntry, avcUnitReader, parseAvcConfig } from './codecs/h264.ts';
import { hevcSampleEntry, hevcUnitReader, parseHevcConfig } from './codecs/h265.ts';
import { opusSampleEntry, opusSamples, parseOpusHead } from './codecs/opus.ts';
import type { Piece } from './mp4/box.ts';
import type { AudioTrack, Track, VideoTrack } from './track.ts';
import type { UnitContent } from './unit-content.ts';

/** What an access unit turned out to be. */
export interface AccessUnit extends UnitContent {
  /** As packets hold it: mostly the same bytes. */
  readonly data: Uint8Array;
}

/**
 * Reads the access units of one track, one after another in their order.
 * @throws {MalformedAccessUnitError} when an access unit is broken, as far as can be told without decoding it, or when a parameter set in
 *   it is not acceptable. Such a unit must not reach a decoder.
 */
export type AccessUnitReader = (data: Uint8Array) => AccessUnit;

/** What the rest of Millrace asks of a codec. */
export interface Codec<T extends Track = Track> {
  readonly name: T['codec'];
  readonly kind: T['kind'];
  /** @throws {InvalidCodecConfigError} when the configuration is broken or describes what is not played */
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

/** Every codec, by no particular order. */
export const CODECS: readonly Codec[] = [h264, h265, av1, aac, opus];

/** The codec of a name. */
export function codecOf(name: Track['codec']): Codec {
  return CODECS.find((codec) => codec.name === name)!;
}

/**
 * How long a packet of a track lasts, in samples.
 * @param data an access unit that its codec has read
 */
export function packetSamples(track: AudioTrack, data: Uint8Array): number {
  return track.codec === 'opus' ? opusSamples(data) : track.samplesPerPacket;
}
