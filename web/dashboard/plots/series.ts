/**
 * Prepares samples for plots: as columns in which gaps stay gaps, with a sentence that says what a plot shows.
 */
import type { Samples } from '../../shared/types.ts';

type Sample = Samples['samples'][number];

/** One plot of samples. */
export interface Measure {
  readonly id: string;
  readonly title: string;
  /** Explains what is good, for readers who have never seen such a plot. */
  readonly help: string;
  readonly value: (sample: Sample) => number | undefined;
  /** The least and the largest value in the sample, where it has them. */
  readonly range?: (sample: Sample) => readonly [number, number];
  readonly format: (value: number) => string;
  /** The range of good values. */
  readonly good?: readonly [number, number];
  /** The plot reaches at least up to this value, so that noise does not fill it. */
  readonly atLeast: number;
}

const seconds = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} s`;

/** Every plot, the headline first. @param bitrate formats bits per second */
export const measures = (bitrate: (value: number) => string): readonly Measure[] => [
  {
    id: 'drift',
    title: 'Drift: media behind the clock',
    help: 'A flat line at 0 is good. A line that climbs means that the uplink of the encoder is too slow for its bitrate: lower the bitrate.',
    value: ({ drift }) => drift,
    format: seconds,
    good: [-1, 2],
    atLeast: 4,
  },
  {
    id: 'bitrate',
    title: 'Ingest bitrate',
    help: 'An even band is good. Deep drops are losses on the way from the encoder.',
    value: ({ bitrate: { mean } }) => mean,
    range: ({ bitrate: { min, max } }) => [min, max],
    format: bitrate,
    atLeast: 1_000_000,
  },
  {
    id: 'fps',
    title: 'Frames per second',
    help: 'A flat line is good. Drops mean that the computer of the encoder is too busy.',
    value: ({ fps }) => fps,
    format: (value) => `${Math.round(value)} fps`,
    atLeast: 30,
  },
  {
    id: 'keyframes',
    title: 'Time between keyframes',
    help: 'A flat line at 2 s is good. Above 4 s viewers wait long before they see the first frame.',
    value: ({ keyframeInterval }) => keyframeInterval,
    format: seconds,
    good: [0.5, 4],
    atLeast: 6,
  },
  {
    id: 'lag',
    title: 'Transcoder behind the source',
    help: 'Below 1 s is good. Above, the server pauses the largest renditions.',
    value: ({ lag }) => (lag === undefined ? undefined : lag / 1000),
    format: seconds,
    good: [0, 1],
    atLeast: 2,
  },
  {
    id: 'viewers',
    title: 'Viewers',
    help: 'Distinct viewers in the last ten seconds of each sample.',
    value: ({ viewers }) => viewers,
    format: (value) => String(Math.round(value)),
    atLeast: 5,
  },
];

/** Columns for a plot: times in seconds, then the values, with nothing where no media came in. */
export interface Columns {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** Makes columns. A gap between samples that is longer than two steps has a point without value. */
export function columnsOf({ step, samples }: Pick<Samples, 'step' | 'samples'>, { value, range }: Measure): Columns {
  const times: number[] = [];
  const values: (number | null)[] = [];
  const low: (number | null)[] = [];
  const high: (number | null)[] = [];
  const add = (at: number, mean: number | null, bounds: readonly [number | null, number | null]) => {
    times.push(at / 1000);
    values.push(mean);
    low.push(bounds[0]);
    high.push(bounds[1]);
  };
  let last: number | undefined;
  for (const sample of samples) {
    if (last !== undefined && sample.time - last > 2.5 * step * 1000) add(last + step * 1000, null, [null, null]);
    const mean = value(sample) ?? null;
    add(sample.time, mean, range?.(sample) ?? [mean, mean]);
    last = sample.time;
  }
  return { times, values, low, high };
}

/** Describes what a plot shows, for readers who cannot see it. */
export function plotSentence({ title, format, good }: Measure, { values }: Columns): string {
  const known = values.filter((each) => each !== null);
  if (known.length === 0) return `${title}: nothing was measured.`;
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const last = known.at(-1)!;
  const bad = good === undefined ? 0 : known.filter((each) => each < good[0] || each > good[1]).length;
  const judged =
    good === undefined
      ? ''
      : bad === 0
        ? ' Always in the good range.'
        : ` Outside of the good range in ${bad} of ${known.length} samples.`;
  return `${title}: ${format(least)} to ${format(most)}, now ${format(last)}.${judged}`;
}

/**
 * The headline of the plots: in words, how many seconds of media the uplink carries in a second. Undefined while too little was measured.
 */
export function uplinkWords(
  samples: readonly Pick<Sample, 'speed' | 'drift'>[],
): { readonly text: string; readonly isBad: boolean } | undefined {
  const recent = samples.slice(-6);
  if (recent.length < 3) return undefined;
  const speed = recent.reduce((sum, each) => sum + each.speed, 0) / recent.length;
  const drift = recent.at(-1)!.drift;
  // A moment of jitter does not mean a slow uplink, so the media must also be behind.
  if (speed < 0.97 && drift > 1) {
    const behind = (1 - speed) * 60;
    return {
      text: `The uplink carries ${speed.toFixed(2)} of real time: another ${behind.toFixed(0)} s behind every minute. Lower the bitrate of the encoder.`,
      isBad: true,
    };
  }
  if (drift > 2)
    return { text: `The media is ${drift.toFixed(1)} s behind, and does not fall further behind.`, isBad: true };
  return { text: 'The uplink keeps up: media comes in as fast as it is made.', isBad: false };
}
