/**
 * A track: one elementary stream of a session, described well enough to be decoded, packaged and announced.
 */

import type { Brand } from '#lib/brand.ts';

/** What kind of media a track carries. */
export type TrackKind = 'video' | 'audio';

/** Names a track of a publisher, from ingest on. A publisher may send several tracks of one kind. */
export type TrackId = Brand<string, 'TrackId'>;

/** Makes a track id from text. */
export const trackId = (id: string): TrackId => id as TrackId;

/** Video codecs that publishers may use. */
export type VideoCodec = 'h264' | 'h265' | 'av1';
/** Audio codecs that publishers may use. */
export type AudioCodec = 'aac' | 'opus';

/** The dynamic range of a video, by the names of HLS (rfc8216bis §4.4.6.2). */
export type VideoRange = 'SDR' | 'HLG' | 'PQ';

/** The timescale of every video track: MPEG's 90 kHz. */
export const VIDEO_TIMESCALE = 90_000;

/** A video track. All of it is read from the decoder configuration, except a frame rate that only the publisher's metadata states. */
export interface VideoTrack {
  readonly kind: 'video';
  readonly codec: VideoCodec;
  readonly timescale: typeof VIDEO_TIMESCALE;
  /** Decoder configuration record as ISO BMFF stores it: the body of `avcC`, `hvcC` (ISO/IEC 14496-15) or `av1C`. */
  readonly config: Uint8Array;
  /** The codec string (RFC 6381), for example `avc1.64001f`. */
  readonly codecString: string;
  /** Displayed size in pixels, after cropping and sample aspect ratio. */
  readonly width: number;
  readonly height: number;
  /** Coded size in pixels after cropping, as the sample entry states it. */
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Frames per second, as declared by the bitstream or else by the publisher. Undefined when neither declares them. */
  readonly declaredFrameRate: number | undefined;
  /** The dynamic range that the bitstream states. Undefined when it states none. */
  readonly videoRange: VideoRange | undefined;
  /**
   * The depth of B-frames that the bitstream states: the most frames that a decoder keeps because a later one is shown first. Undefined when
   * it states none. AV1 has no such statement.
   */
  readonly reorderedFrames: number | undefined;
}

/** An audio track. */
export interface AudioTrack {
  readonly kind: 'audio';
  readonly codec: AudioCodec;
  /** Samples per second, in which audio time is counted. With HE-AAC, those of the AAC-LC core, usually half of {@link sampleRate}. */
  readonly timescale: number;
  /** AAC: the AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1). Opus: the identification header (RFC 7845 §5.1). */
  readonly config: Uint8Array;
  /** The codec string (RFC 6381), for example `mp4a.40.2`. */
  readonly codecString: string;
  /** The sample rate of a decoder's output. */
  readonly sampleRate: number;
  readonly channels: number;
  /** Samples that a packet decodes to, at `timescale`: 1024 or 960. With Opus, `packetSamples` in `codecs.ts` finds those of each packet. */
  readonly samplesPerPacket: number;
}

/** One elementary stream. */
export type Track = VideoTrack | AudioTrack;

/** Whether packets of one track can be decoded with the configuration of the other. */
export function sameTrack(a: Track, b: Track): boolean {
  return a.codec === b.codec && Buffer.compare(a.config, b.config) === 0;
}
