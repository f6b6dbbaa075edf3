/**
 * Samples of a session's health: what a few seconds or a minute of its media were like, and the text in which the store keeps them.
 */
import { type Milliseconds, ms } from '#lib/units.ts';
import { RENDITION_STATES, type RenditionState } from './health.ts';

/** The largest number of renditions whose state a sample keeps. */
export const MAX_SAMPLED_RENDITIONS = 16;

/** A sample of one span of time. */
export interface HealthSample {
  /** The end of the span. */
  readonly at: Milliseconds;
  readonly durationMs: number;
  /** The bitrate of the received media, in bits per second: that of the worst and the best second of the span, and the mean of the span. */
  readonly bitrateBps: { readonly min: number; readonly mean: number; readonly max: number };
  readonly framesPerSecond: number;
  /** The longest time in which no frame was received, in seconds by the clock. */
  readonly longestGapS: number;
  /** The longest of the latest intervals between keyframes, in seconds of media. Undefined before the second keyframe. */
  readonly keyframeIntervalS: number | undefined;
  /** Seconds of media that were received in each second. */
  readonly speed: number;
  /** Seconds by which the media lags behind the clock, compared with the best moment since its publisher connected. */
  readonly driftS: number;
  /** Milliseconds by which the transcoder lags. Undefined where nothing is transcoded. */
  readonly lagMs: number | undefined;
  readonly viewers: number;
  /** The states of the renditions in the order of the session's profiles. A profile without a rendition counts as waiting. */
  readonly renditions: readonly RenditionState[];
}

/** Joins samples of consecutive spans to one of the whole span. @param samples at least one, oldest first */
export function joinSamples(samples: readonly HealthSample[]): HealthSample {
  const last = samples.at(-1)!;
  const durationMs = sum(samples, (sample) => sample.durationMs);
  const mean = (of: (sample: HealthSample) => number) =>
    durationMs === 0 ? of(last) : sum(samples, (sample) => of(sample) * sample.durationMs) / durationMs;
  const largest = (of: (sample: HealthSample) => number | undefined) => {
    const values = samples.map(of).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : Math.max(...values);
  };
  return {
    at: last.at,
    durationMs,
    bitrateBps: {
      min: Math.min(...samples.map(({ bitrateBps }) => bitrateBps.min)),
      mean: mean(({ bitrateBps }) => bitrateBps.mean),
      max: Math.max(...samples.map(({ bitrateBps }) => bitrateBps.max)),
    },
    framesPerSecond: mean((sample) => sample.framesPerSecond),
    longestGapS: largest((sample) => sample.longestGapS) ?? 0,
    keyframeIntervalS: largest((sample) => sample.keyframeIntervalS),
    speed: mean((sample) => sample.speed),
    driftS: last.driftS,
    lagMs: largest((sample) => sample.lagMs),
    viewers: largest((sample) => sample.viewers) ?? 0,
    renditions: last.renditions.map((state, index) =>
      samples.some(({ renditions }) => renditions[index] === 'shed') ? 'shed' : state,
    ),
  };
}

const sum = (samples: readonly HealthSample[], of: (sample: HealthSample) => number): number =>
  samples.reduce((total, sample) => total + of(sample), 0);

/** The numbers of a sample besides its time, in the order in which they are kept. Undefined is null. */
type Row = readonly (number | null)[];

/** The number of entries of a {@link Row} before the states of renditions. */
const FIXED_LENGTH = 11;

/** The text of a sample without its time. */
export function textOfSample(sample: HealthSample): string {
  const { bitrateBps } = sample;
  const row: Row = [
    Math.round(sample.durationMs),
    Math.round(bitrateBps.min),
    Math.round(bitrateBps.mean),
    Math.round(bitrateBps.max),
    rounded(sample.framesPerSecond, 2),
    rounded(sample.longestGapS, 3),
    sample.keyframeIntervalS === undefined ? null : rounded(sample.keyframeIntervalS, 3),
    rounded(sample.speed, 4),
    rounded(sample.driftS, 3),
    sample.lagMs === undefined ? null : Math.round(sample.lagMs),
    sample.viewers,
    ...sample.renditions.slice(0, MAX_SAMPLED_RENDITIONS).map((state) => RENDITION_STATES.indexOf(state)),
  ];
  return JSON.stringify(row);
}

/** Reads what {@link textOfSample} wrote. Undefined for a text of another version. */
export function sampleOfText(at: Milliseconds, text: string): HealthSample | undefined {
  const row = rowOf(text);
  if (row === undefined) return undefined;
  const [durationMs, min, mean, max, framesPerSecond, longestGapS, keyframeS, speed, driftS, lagMs, viewers] = row;
  const needed = [durationMs, min, mean, max, framesPerSecond, longestGapS, speed, driftS, viewers];
  if (needed.some((value) => value === null)) return undefined;
  return {
    at: ms(at),
    durationMs: durationMs!,
    bitrateBps: { min: min!, mean: mean!, max: max! },
    framesPerSecond: framesPerSecond!,
    longestGapS: longestGapS!,
    keyframeIntervalS: keyframeS ?? undefined,
    speed: speed!,
    driftS: driftS!,
    lagMs: lagMs ?? undefined,
    viewers: viewers!,
    renditions: row
      .slice(FIXED_LENGTH, FIXED_LENGTH + MAX_SAMPLED_RENDITIONS)
      .map((state) => RENDITION_STATES[state ?? 0] ?? 'waiting'),
  };
}

function rowOf(text: string): Row | undefined {
  try {
    const row: unknown = JSON.parse(text);
    if (!Array.isArray(row) || row.length < FIXED_LENGTH) return undefined;
    return row.every((value) => value === null || typeof value === 'number') ? (row as Row) : undefined;
  } catch {
    return undefined;
  }
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
