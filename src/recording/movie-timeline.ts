/**
 * Places recorded samples on the time of a movie. It is session time without the time that was left out of all renditions, such as the absence of
 * the publisher. Where time was left out, all renditions continue at the same moment, so that audio and video stay in step.
 */
import { MOVIE_TIMESCALE, type SampleColumns } from '#media/mp4/movie.ts';
import type { TrackKind } from '#media/track.ts';
import { firstIndex, type RecordedSamples } from './recorded-samples.ts';

/**
 * A rendition on the time of a movie. Its durations and composition offsets are those of the movie: a sample is decoded where the one before it in
 * its part ends.
 */
export interface MovieTimeline extends RecordedSamples {
  /** Its index in what was given. */
  readonly rendition: number;
  readonly kind: TrackKind;
  /** That of its first configuration. Times of all others are converted to it. */
  readonly timescale: number;
  /** When the first sample of each part is decoded, ascending. One entry more than parts: the end of the last sample. */
  readonly partTimes: Float64Array;
  /** For each part: its session time less its time in the movie, in ticks. */
  readonly shifts: Float64Array;
}

/** A segment of a rendition: when it is shown, in seconds of session time, and where its parts begin. */
interface SegmentTime {
  readonly number: number;
  readonly from: number;
  readonly until: number;
  readonly firstPart: number;
}

/** Places renditions on one time. Segments with the same number belong together. */
export function movieTimelines(renditions: readonly RecordedSamples[]): readonly MovieTimeline[] {
  const segments = renditions.map(segmentTimes);
  const leftOut = leftOutBefore(segments);
  return renditions.map((samples, rendition) => place(samples, rendition, segments[rendition]!, leftOut));
}

function segmentTimes({ parts, samples, configurations }: RecordedSamples): readonly SegmentTime[] {
  const times: SegmentTime[] = [];
  const count = parts.volumes.length;
  for (let firstPart = 0; firstPart < count; ) {
    const number = parts.segments[firstPart]!;
    let end = firstPart + 1;
    while (end < count && parts.segments[end] === number) end += 1;
    const { timescale } = configurations[parts.configurations[firstPart]!]!;
    // The first sample of a segment is nearly always the first one shown. The last one that is shown may be any.
    const reordering = samples.compositionOffsets[parts.firstSamples[firstPart]!]!;
    let ticks = parts.decodeTimes[end - 1]! + reordering;
    for (let sample = parts.firstSamples[end - 1]!; sample < parts.firstSamples[end]!; sample++) {
      ticks += samples.durations[sample]!;
    }
    const from = (parts.decodeTimes[firstPart]! + reordering) / timescale;
    times.push({ number, from, until: ticks / timescale, firstPart });
    firstPart = end;
  }
  return times;
}

/** The time that was left out before each segment and is in no rendition, by the segment's number. Ticks of the movie, from the beginning. */
function leftOutBefore(renditions: readonly (readonly SegmentTime[])[]): ReadonlyMap<number, number> {
  const spans = new Map<number, { from: number; until: number }>();
  for (const { number, from, until } of renditions.flat()) {
    const span = spans.get(number) ?? { from, until };
    spans.set(number, { from: Math.min(span.from, from), until: Math.max(span.until, until) });
  }
  const before = new Map<number, number>();
  let leftOut = 0;
  let covered = Infinity;
  for (const [number, { from, until }] of [...spans].toSorted(([a], [b]) => a - b)) {
    leftOut += Math.max(0, Math.round((from - covered) * MOVIE_TIMESCALE));
    before.set(number, leftOut);
    covered = covered === Infinity ? until : Math.max(covered, until);
  }
  return before;
}

function place(
  source: RecordedSamples,
  rendition: number,
  segments: readonly SegmentTime[],
  leftOut: ReadonlyMap<number, number>,
): MovieTimeline {
  const { configurations, parts, samples } = source;
  const { kind, timescale } = configurations[parts.configurations[0]!]!;
  const count = parts.volumes.length;
  const partTimes = new Float64Array(count + 1);
  const shifts = new Float64Array(count);
  const placing = new Placing(samples);
  for (const [index, { number, firstPart }] of segments.entries()) {
    const shift = Math.round((leftOut.get(number)! * timescale) / MOVIE_TIMESCALE);
    const endPart = segments[index + 1]?.firstPart ?? count;
    for (let part = firstPart; part < endPart; part++) {
      const scale = timescale / configurations[parts.configurations[part]!]!.timescale;
      const first = parts.firstSamples[part]!;
      const end = parts.firstSamples[part + 1]!;
      shifts[part] = shift;
      if (scale !== 1) placing.rescale(first, end, parts.decodeTimes[part]!, scale);
      partTimes[part] = placing.place(first, end, Math.round(parts.decodeTimes[part]! * scale) - shift);
    }
  }
  partTimes[count] = placing.end;
  return { configurations, parts, samples: placing.samples, rendition, kind, timescale, partTimes, shifts };
}

/** Places parts one after another. Columns are copied only where times do not fit together, because four hours of them are large. */
class Placing {
  readonly #source: SampleColumns;
  #durations: Uint32Array;
  #compositionOffsets: Int32Array;
  /** Where the last sample that was placed is decoded, and where it ends. */
  #last = -Infinity;
  #end = -Infinity;

  constructor(source: SampleColumns) {
    this.#source = source;
    this.#durations = source.durations;
    this.#compositionOffsets = source.compositionOffsets;
  }

  get end(): number {
    return this.#end;
  }

  /** The samples on the time of the movie. */
  get samples(): SampleColumns {
    return { ...this.#source, durations: this.#durations, compositionOffsets: this.#compositionOffsets };
  }

  /** Converts durations to another timescale, without adding up what rounding leaves. */
  rescale(first: number, end: number, decodeTime: number, scale: number): void {
    let ticks = decodeTime;
    for (let sample = first; sample < end; sample++) {
      const from = Math.round(ticks * scale);
      ticks += this.#source.durations[sample]!;
      this.#setDuration(sample, Math.round(ticks * scale) - from);
    }
  }

  /** Places the samples of a part. @returns when the first one is decoded: at `wanted`, or as soon after it as possible */
  place(first: number, end: number, wanted: number): number {
    const at = Math.max(wanted, this.#last + 1);
    // The sample before lasts until then: longer where the renditions have nothing, or other ones have more.
    if (first > 0 && at !== this.#end) this.#setDuration(first - 1, at - this.#last);
    // Frames of an encoder that reorders more than the one before should be decoded before the last one of that. They are decoded later, and
    // shown when they should be.
    let late = at - wanted;
    let ticks = at;
    for (let sample = first; sample < end; sample++) {
      this.#last = ticks;
      if (late > 0) late = this.#catchUp(sample, late);
      ticks += this.#durations[sample]!;
    }
    this.#end = ticks;
    return at;
  }

  /** Shortens a sample that is decoded too late. @returns how late the next one is */
  #catchUp(sample: number, late: number): number {
    const duration = this.#durations[sample]!;
    const caughtUp = Math.min(late, Math.max(0, duration - 1));
    this.#setDuration(sample, duration - caughtUp);
    if (this.#compositionOffsets === this.#source.compositionOffsets) {
      this.#compositionOffsets = this.#compositionOffsets.slice();
    }
    this.#compositionOffsets[sample]! -= late;
    return late - caughtUp;
  }

  #setDuration(sample: number, ticks: number): void {
    if (this.#durations === this.#source.durations) this.#durations = this.#durations.slice();
    this.#durations[sample] = ticks;
  }
}

/** The part that has a sample. */
export function partOf({ parts }: MovieTimeline, sample: number): number {
  return firstIndex(parts.volumes.length, (part) => parts.firstSamples[part + 1]! > sample);
}

/** When a sample is decoded, in ticks. The index after the last one stands for its end. */
export function decodedAt(timeline: MovieTimeline, sample: number): number {
  const { parts, samples, partTimes } = timeline;
  const part = partOf(timeline, sample);
  let ticks = partTimes[part]!;
  for (let before = parts.firstSamples[part]!; before < sample; before++) ticks += samples.durations[before]!;
  return ticks;
}

/** When a sample is shown, in ticks. */
export function shownAt(timeline: MovieTimeline, sample: number): number {
  return decodedAt(timeline, sample) + timeline.samples.compositionOffsets[sample]!;
}

/**
 * The sample that lasts at a time, in ticks; by `before`, the one that lasts until just before it. The first one for earlier times, and the last
 * one for later ones. Only for samples that are shown when they are decoded.
 */
export function sampleAt(timeline: MovieTimeline, ticks: number, side: 'at' | 'before' = 'at'): number {
  const { parts, samples, partTimes } = timeline;
  const isOver = (end: number) => (side === 'at' ? end <= ticks : end < ticks);
  const last = parts.volumes.length - 1;
  const part = Math.min(
    last,
    firstIndex(last + 1, (index) => !isOver(partTimes[index + 1]!)),
  );
  const partEnd = parts.firstSamples[part + 1]! - 1;
  let sample = parts.firstSamples[part]!;
  let end = partTimes[part]! + samples.durations[sample]!;
  while (sample < partEnd && isOver(end)) end += samples.durations[++sample]!;
  return sample;
}
