/**
 * The health of a session (what is received, what is made of it, and what is wrong), and the text in which the store keeps it for other
 * nodes.
 */
import { type Milliseconds, ms } from '#lib/units.ts';
import { type Measured, WARNINGS, type WarningCode, type WarningSeverity } from './warnings.ts';

/** The rates of one track, averaged over its last seconds. */
export interface Rates {
  /** Of the elementary stream, in bits per second. */
  readonly bitrateBps: number;
  readonly framesPerSecond: number;
}

/** A video track as measured. */
export interface VideoHealth {
  /** As RFC 6381 names it. */
  readonly codec: string;
  /** Pixels, as displayed. */
  readonly width: number;
  readonly height: number;
  /** Undefined until a second of media has been measured, and while none is received. */
  readonly rates: Rates | undefined;
}

/** An audio track as measured. */
export interface AudioHealth {
  /** As RFC 6381 names it. */
  readonly codec: string;
  /** In Hz. */
  readonly sampleRate: number;
  readonly channels: number;
  /** As for {@link VideoHealth}; each packet counts as a frame. */
  readonly rates: Rates | undefined;
}

/** What the publisher sends. */
export interface SourceHealth {
  /** The interval between keyframes is in seconds, and undefined until two keyframes have been received. */
  readonly video: (VideoHealth & { readonly keyframeIntervalS: number | undefined }) | undefined;
  readonly audio: AudioHealth | undefined;
}

/** The states of a rendition of a profile. */
export const RENDITION_STATES = [
  'waiting', // for its first frame, or for the transcoder to be replaced
  'running',
  'shed', // not made at the moment, because the machine is too slow for all renditions
] as const;
/** One of {@link RENDITION_STATES}. */
export type RenditionState = (typeof RENDITION_STATES)[number];

/** A rendition that is made of a profile. */
export interface RenditionHealth {
  /** The profile's name. */
  readonly id: string;
  readonly state: RenditionState;
  /** Undefined before its first frame. */
  readonly video: VideoHealth | undefined;
}

/** What is made of the profiles. */
export interface LadderHealth {
  readonly renditions: readonly RenditionHealth[];
  /** Profiles of which no rendition is made. */
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
  /** Undefined where nothing is transcoded. */
  readonly transcoder: { readonly restarts: number; readonly lagMs: number } | undefined;
}

/** A warning that applies now, as the owner of the stream sees it. */
export interface ActiveWarning {
  readonly code: WarningCode;
  readonly severity: WarningSeverity;
  readonly message: string;
  /** Wall-clock time since which it has applied without a break. */
  readonly since: Milliseconds;
  /** Undefined for a warning that is not about a number. */
  readonly measured?: Measured | undefined;
}

/** The health of a session at one moment. */
export interface SessionHealth {
  /** The name that the publisher gives itself; undefined when it gives none. */
  readonly encoder: string | undefined;
  readonly source: SourceHealth;
  readonly ladder: LadderHealth;
  /** Whether there is a thumbnail. */
  readonly hasThumbnail: boolean;
  readonly warnings: readonly ActiveWarning[];
}

/** Whether a session with these warnings is healthy. */
export function isHealthy(warnings: readonly ActiveWarning[]): boolean {
  return !warnings.some(({ severity }) => severity === 'issue');
}

/**
 * The version of the text. It rises when a field changes its meaning, and not when a field is added: a reader ignores fields it does not
 * know, and takes fields that are missing for undefined or empty.
 */
const VERSION = 1;

/** Writes health as text for the store. */
export const textOfHealth = (health: SessionHealth): string => JSON.stringify({ version: VERSION, ...health });

/**
 * Reads health that a node of this or another version of Millrace has stored. A text without a version was written before that field was
 * added, and has the fields of version 1.
 * @returns undefined when the text is of a later version or cannot be read
 */
export function healthOfText(text: string): SessionHealth | undefined {
  const stored = fieldsOf(jsonOf(text));
  if (stored === undefined || (stored.version ?? VERSION) !== VERSION) return undefined;
  const source = fieldsOf(stored.source) ?? {};
  const ladder = fieldsOf(stored.ladder) ?? {};
  const transcoder = fieldsOf(ladder.transcoder);
  const video = videoOf(source.video);
  return {
    encoder: textOf(stored.encoder),
    source: {
      video: video && { ...video, keyframeIntervalS: numberOf(fieldsOf(source.video)?.keyframeIntervalS) },
      audio: audioOf(source.audio),
    },
    ladder: {
      renditions: eachOf(ladder.renditions, ({ id, state, video }) => {
        const known = RENDITION_STATES.find((each) => each === state);
        return typeof id === 'string' && known ? { id, state: known, video: videoOf(video) } : undefined;
      }),
      leftOut: eachOf(ladder.leftOut, ({ id, reason }) =>
        typeof id === 'string' && typeof reason === 'string' ? { id, reason } : undefined,
      ),
      transcoder: transcoder && {
        restarts: numberOf(transcoder.restarts) ?? 0,
        lagMs: numberOf(transcoder.lagMs) ?? 0,
      },
    },
    hasThumbnail: stored.hasThumbnail === true,
    warnings: eachOf(stored.warnings, warningOf),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function videoOf(value: unknown): VideoHealth | undefined {
  const { codec, width, height, rates } = fieldsOf(value) ?? {};
  if (typeof codec !== 'string' || typeof width !== 'number' || typeof height !== 'number') return undefined;
  return { codec, width, height, rates: ratesOf(rates) };
}

function audioOf(value: unknown): AudioHealth | undefined {
  const { codec, sampleRate, channels, rates } = fieldsOf(value) ?? {};
  if (typeof codec !== 'string' || typeof sampleRate !== 'number' || typeof channels !== 'number') return undefined;
  return { codec, sampleRate, channels, rates: ratesOf(rates) };
}

function ratesOf(value: unknown): Rates | undefined {
  const { bitrateBps, framesPerSecond } = fieldsOf(value) ?? {};
  if (typeof bitrateBps !== 'number' || typeof framesPerSecond !== 'number') return undefined;
  return { bitrateBps, framesPerSecond };
}

/** A warning that this version does not know is left out. */
function warningOf({ code, severity, message, since, measured }: Fields): ActiveWarning | undefined {
  if (typeof code !== 'string' || typeof message !== 'string' || typeof since !== 'number') return undefined;
  if (severity !== 'issue' && severity !== 'notice') return undefined;
  if (!Object.hasOwn(WARNINGS, code)) return undefined;
  const known = readMeasured(measured);
  return { code: code as WarningCode, severity, message, since: ms(since), ...(known && { measured: known }) };
}

function readMeasured(value: unknown): Measured | undefined {
  const { actual, expected, unit } = fieldsOf(value) ?? {};
  if (typeof actual !== 'number' || typeof expected !== 'number' || typeof unit !== 'string') return undefined;
  return { actual, expected, unit };
}

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? (value as Fields) : undefined;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The items of a list that can be read. */
function eachOf<Item>(value: unknown, read: (fields: Fields) => Item | undefined): readonly Item[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => read(fieldsOf(item) ?? {}) ?? []);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
