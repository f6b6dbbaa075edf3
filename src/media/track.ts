/**
 * A track: one elementary stream of a session, described well enough to be decoded, packaged and announced.
 */

/** What kind of media a track carries. At most one track of each kind in a session. */
export type TrackKind = 'video' | 'audio';

/** Video codecs Millrace takes in. */
export type VideoCodec = 'h264' | 'h265' | 'av1';
/** Audio codecs Millrace takes in. */
export type AudioCodec = 'aac' | 'opus';

/** What a video's light values mean, in the words of HLS (rfc8216bis §4.4.6.2). */
export type VideoRange = 'SDR' | 'HLG' | 'PQ';

/** Timescale of every video track: MPEG's 90 kHz. */
export const VIDEO_TIMESCALE = 90_000;

/** A video track. Read from its decoder configuration, and not, but for a frame rate, from what a publisher claims beside it. */
export interface VideoTrack {
  readonly kind: 'video';
  readonly codec: VideoCodec;
  readonly timescale: typeof VIDEO_TIMESCALE;
  /** Decoder configuration record as ISO BMFF stores it: the body of `avcC`, `hvcC` (ISO/IEC 14496-15) or `av1C`. */
  readonly config: Uint8Array;
  /** RFC 6381, for example `avc1.64001f`. */
  readonly codecString: string;
  /** Displayed size in pixels, after cropping and sample aspect ratio. */
  readonly width: number;
  readonly height: number;
  /** Coded size in pixels after cropping, as the sample entry states it. */
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Frames per second as the bitstream declares them, or else the publisher; undefined when neither does. */
  readonly declaredFrameRate: number | undefined;
  /** As the bitstream says; undefined when it does not. */
  readonly videoRange: VideoRange | undefined;
}

/** An audio track. */
export interface AudioTrack {
  readonly kind: 'audio';
  readonly codec: AudioCodec;
  /** The sample rate: audio time is counted in samples. */
  readonly timescale: number;
  /** AAC: the AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1). Opus: the identification header (RFC 7845 §5.1). */
  readonly config: Uint8Array;
  /** RFC 6381, for example `mp4a.40.2`. */
  readonly codecString: string;
  readonly sampleRate: number;
  readonly channels: number;
  /** Samples every packet decodes to, at `timescale`: 1024, or 960. With Opus packets differ: `codecs.ts` says how. */
  readonly samplesPerPacket: number;
}

/** One elementary stream. */
export type Track = VideoTrack | AudioTrack;

/** Whether packets of one can be decoded with the configuration of the other. */
export function sameTrack(a: Track, b: Track): boolean {
  return a.codec === b.codec && Buffer.compare(a.config, b.config) === 0;
}
