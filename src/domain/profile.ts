/**
 * The output rendition that a customer asks for (interface specification, "Profile object").
 */

/** H.264 profiles a rendition may ask for. */
export const H264_PROFILES = ['H264Baseline', 'H264Main', 'H264High', 'H264ConstrainedHigh'] as const;

/** A requested output rendition. It is returned to the customer exactly as it was sent, key order included. */
export interface Profile {
  /** Unique in the stream; `source` is reserved. */
  readonly name: string;
  /** Bits per second. */
  readonly bitrate: number;
  /** Frames per second over `fpsDen`; 0 keeps the source's rate. */
  readonly fps: number;
  /** Pixels. */
  readonly width: number;
  /** Pixels. */
  readonly height: number;
  /** Denominator of `fps`; absent means 1. */
  readonly fpsDen?: number;
  /** Keyframe interval: seconds as a decimal, `"0"` for the encoder's default, `"intra"` for every frame. */
  readonly gop?: string;
  readonly profile?: (typeof H264_PROFILES)[number];
  /** Constant-quality setting 0..44; `bitrate` is then only the cap. */
  readonly quality?: number;
  readonly encoder?: 'H.264';
}

/** The rendition that is the source's video as it came; no profile may have this name. */
export const SOURCE_RENDITION = 'source';

/** The rendition that is the session's audio. */
export const AUDIO_RENDITION = 'audio';

/** The ladder of a stream created without `profiles`. */
export const DEFAULT_PROFILES: readonly Profile[] = [
  { name: '240p0', fps: 0, bitrate: 250_000, width: 426, height: 240, profile: 'H264ConstrainedHigh' },
  { name: '360p0', fps: 0, bitrate: 800_000, width: 640, height: 360, profile: 'H264ConstrainedHigh' },
  { name: '480p0', fps: 0, bitrate: 1_600_000, width: 854, height: 480, profile: 'H264ConstrainedHigh' },
  { name: '720p0', fps: 0, bitrate: 3_000_000, width: 1280, height: 720, profile: 'H264ConstrainedHigh' },
];
