/**
 * How a session is doing, in numbers: what comes in, what goes out, and what is amiss.
 */
import type { WarningCode, WarningSeverity } from '#domain/warnings.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { AudioTrack, VideoTrack } from '#media/track.ts';
import type { Rates } from './rate-meter.ts';

/** A video track as measured. */
export interface VideoHealth {
  /** RFC 6381. */
  readonly codec: string;
  /** Pixels, as displayed. */
  readonly width: number;
  readonly height: number;
  /** Undefined until a second of it was measured, and while nothing comes. */
  readonly rates: Rates | undefined;
}

/** An audio track as measured. */
export interface AudioHealth {
  /** RFC 6381. */
  readonly codec: string;
  /** In Hz. */
  readonly sampleRate: number;
  readonly channels: number;
  /** As for {@link VideoHealth}; a frame is a packet here. */
  readonly rates: Rates | undefined;
}

/** What the publisher sends. */
export interface SourceHealth {
  readonly video: (VideoHealth & { readonly keyframeIntervalS: number | undefined }) | undefined;
  readonly audio: AudioHealth | undefined;
}

/** Where a rendition of a profile stands. */
export const RENDITION_STATES = [
  'waiting', // for its first picture, or for the transcoder to come back
  'running',
  'shed', // not made for now, since the machine is too slow for all
] as const;
/** One of {@link RENDITION_STATES}. */
export type RenditionState = (typeof RENDITION_STATES)[number];

/** A rendition being made of a profile. */
export interface RenditionHealth {
  /** The profile's name. */
  readonly id: string;
  readonly state: RenditionState;
  /** Undefined before its first picture. */
  readonly video: VideoHealth | undefined;
}

/** What is made of the profiles. */
export interface LadderHealth {
  readonly renditions: readonly RenditionHealth[];
  /** Profiles no rendition is made of. */
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
  /** Undefined where nothing is transcoded. */
  readonly transcoder: { readonly restarts: number; readonly lagMs: number } | undefined;
}

/** A warning that stands, as its owner is told. */
export interface ActiveWarning {
  readonly code: WarningCode;
  readonly severity: WarningSeverity;
  readonly message: string;
  /** Wall clock when it was first raised without having lapsed since. */
  readonly since: Milliseconds;
}

/** All of it, at one moment. */
export interface SessionHealth {
  /** What the publisher calls itself, as far as it does. */
  readonly encoder: string | undefined;
  readonly source: SourceHealth;
  readonly ladder: LadderHealth;
  /** There is a thumbnail. */
  readonly hasThumbnail: boolean;
  readonly warnings: readonly ActiveWarning[];
}

/** Whether a session with these warnings is well. */
export function isHealthy(warnings: readonly ActiveWarning[]): boolean {
  return !warnings.some(({ severity }) => severity === 'issue');
}

/** A track beside its rates. */
export function videoHealth({ codecString, width, height }: VideoTrack, rates: Rates | undefined): VideoHealth {
  return { codec: codecString, width, height, rates };
}

/** A track beside its rates. */
export function audioHealth({ codecString, sampleRate, channels }: AudioTrack, rates: Rates | undefined): AudioHealth {
  return { codec: codecString, sampleRate, channels, rates };
}
