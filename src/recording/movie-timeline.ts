/**
 * Places recorded samples on the timeline of a movie. Movie time is session time without the time for which no rendition has media, such as
 * the absence of the publisher. After such a pause all renditions continue at the same moment, so that audio and video stay in sync.
 */
import { MOVIE_TIMESCALE, type SampleColumns } from '#media/mp4/movie.ts';
import type { TrackKind } from '#media/track.ts';
import { firstIndex, type RecordedSamples } from './recorded-samples.ts';

/**
 * A rendition on the timeline of a movie. Its durations and composition offsets are those in movie time: a sample is decoded when the
 * sample before it in its part ends.
 */
export interface MovieTimeline extends RecordedSamples {
  /** Its index among the renditions that were placed. */
  readonly rendition: number;
  readonly kind: TrackKind;
  /** The timescale of its first configuration. The times of all other configurations are converted to it. */
  readonly timescale: number;
  /** When the first sample of each part is decoded, in ticks, ascending. The entry after the last part is the end of the last sample. */
  readonly partTimes: Float64Array;
  /** For each part: its session time minus its movie time, in ticks. */
  readonly shifts: Float64Array;
}

/** A segment of a rendition: when it is shown, in seconds of session time, and where its parts begin. */
interface SegmentTime {
  readonly number: number;
  readonly from: number;
  readonly until: number;
  readonly firstPart: number;
}

/** Places renditions on one timeline. Segments with the same number belong together. The columns that are given are not changed. */
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
    // The first sample of a segment is nearly always the first to be shown. The last to be shown may be any sample.
    const first = parts.firstSamples[firstPart]!;
    const reordering = samples.compositionOffsets[first]!;
    let untilTicks = -Infinity;
    let sample = first;
    for (let part = firstPart; part < end; part++) {
      let ticks = parts.decodeTimes[part]!;
      for (; sample < parts.firstSamples[part + 1]!; sample++) {
        // After a kill, frames may be missing that would have been decoded after this one and shown before it. So it may be shown later
        // than the number of frames suggests, and what follows must not be shown before it.
        const shownTicks = ticks + samples.compositionOffsets[sample]! + samples.durations[sample]!;
        if (shownTicks > untilTicks) untilTicks = shownTicks;
        ticks += samples.durations[sample]!;
      }
      untilTicks = Math.max(untilTicks, ticks + reordering);
    }
    const from = (parts.decodeTimes[firstPart]! + reordering) / timescale;
    times.push({ number, from, until: untilTicks / timescale, firstPart });
    firstPart = end;
  }
  return times;
}

/**
 * When a segment begins more than this before the end of the segment before it, in seconds, session time has stepped back. Segments of
 * different renditions overlap by less.
 */
const STEP_BACK_S = 1;

/**
 * By the number of a segment: all the time before it for which no rendition has media, in ticks of the movie. Where session time has
 * stepped back, it is reduced by as much, so that the movie simply continues there. Session time stepped back in recordings of earlier
 * versions, when the machine's clock was set back before the server started again.
 */
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
    const isBack = covered !== Infinity && covered - from > STEP_BACK_S;
    if (isBack || from > covered) leftOut += Math.round((from - covered) * MOVIE_TIMESCALE);
    before.set(number, leftOut);
    covered = covered === Infinity || isBack ? until : Math.max(covered, until);
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

/** Places parts one after another. Columns are copied only when times must be changed, because those of four hours are large. */
class Placing {
  readonly #source: SampleColumns;
  #durations: Uint32Array;
  #compositionOffsets: Int32Array;
  /** When the last sample that was placed is decoded, and when it ends, in ticks. */
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

  /** The samples in movie time. */
  get samples(): SampleColumns {
    return { ...this.#source, durations: this.#durations, compositionOffsets: this.#compositionOffsets };
  }

  /** Converts durations to another timescale, so that rounding errors do not add up. */
  rescale(first: number, end: number, decodeTime: number, scale: number): void {
    let ticks = decodeTime;
    for (let sample = first; sample < end; sample++) {
      const from = Math.round(ticks * scale);
      ticks += this.#source.durations[sample]!;
      this.#setDuration(sample, Math.round(ticks * scale) - from);
    }
  }

  /** Places the samples of a part. @returns the tick at which the first one is decoded: `wanted`, or as soon after it as possible */
  place(first: number, end: number, wanted: number): number {
    const at = Math.max(wanted, this.#last + 1);
    // The sample before lasts until then. It is longer where this rendition has no media, or where other renditions have more than it.
    if (first > 0 && at !== this.#end) this.#setDuration(first - 1, at - this.#last);
    // An encoder that continues a session may reorder more frames than the one before it. Its first frames are then due for decoding before
    // the last frame of the earlier encoder. They are decoded later than that, and shown when they are due.
    let late = at - wanted;
    let [ticks, last] = [at, this.#last];
    for (let sample = first; sample < end; sample++) {
      last = ticks;
      if (late > 0) late = this.#catchUp(sample, late);
      ticks += this.#durations[sample]!;
    }
    this.#last = last;
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

/** The index of the part that has a sample. */
export function partOf({ parts }: MovieTimeline, sample: number): number {
  return firstIndex(parts.volumes.length, (part) => parts.firstSamples[part + 1]! > sample);
}

/** When a sample is decoded, in ticks. For the index after the last sample: when the last sample ends. */
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
 * The index of the sample that is decoded at a time or lasts over it. Only for samples that are shown in the order of decoding, as audio
 * is.
 * @param ticks for a time before all samples the result is the first one, and for a time after all samples the last one
 * @param side `before`: where one sample ends and another begins at that time, the result is the one that ends
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
