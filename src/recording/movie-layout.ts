/**
 * Lays out the media data of a movie: which bytes of which volumes follow one another in the file, and where the chunks of its tracks are
 * among them. Small gaps between samples, such as a `moof`, are served too, and no chunk refers to them.
 */
import { inBandConfiguration } from '#media/mp4/in-band-configuration.ts';
import { MOVIE_TIMESCALE, type MovieTrack } from '#media/mp4/movie.ts';
import { decodedAt, type MovieTimeline } from './movie-timeline.ts';
import { firstIndex } from './recorded-samples.ts';

/** The byte ranges of volumes of which the media data consists, in their order. One entry of each column describes a range. */
export interface MediaRanges {
  /** Where each range begins in the media data. The entry after the last range is the length of the media data. */
  readonly positions: Float64Array;
  /** The rendition of each range: its index among the renditions that were cut, or {@link LITERAL}. */
  readonly renditions: Uint8Array;
  /** The number of the volume. With {@link LITERAL}: the index of the literal. */
  readonly volumes: Uint32Array;
  /** Where each range begins in its volume, in bytes. */
  readonly offsets: Float64Array;
  /** Bytes that are in no volume. */
  readonly literals: readonly Uint8Array[];
}

/** In {@link MediaRanges.renditions}: the bytes of the range are a literal. */
export const LITERAL = 255;

/** A movie: its tracks, and the byte ranges that are its media data. */
export interface MovieCut {
  readonly tracks: readonly MovieTrack[];
  readonly ranges: MediaRanges;
}

/** A span in seconds of movie time before the cut, which is session time without the time that was left out (`movie-timeline.ts`). */
export interface MovieSpan {
  readonly from: number;
  readonly until: number;
}

/** What is taken of a rendition. */
export interface TrackCut {
  readonly timeline: MovieTimeline;
  /** The first sample, and the one after the last. */
  readonly first: number;
  readonly end: number;
  readonly shown: MovieSpan;
}

/** The most bytes between samples that are served with them. Where there are more, another range begins. */
const MAX_GAP_BYTES = 1 << 16;

/**
 * Lays out tracks in the order of their segments, those of the first track before those of the second with the same number.
 * @param cuts at least one; the movie begins where the first one is shown
 */
export function layOut(cuts: readonly TrackCut[]): MovieCut {
  const tracks = cuts.map((cut) => new TrackLayout(cut));
  const literals = tracks.flatMap((track) => track.literals);
  const ranges = new RangeList(
    tracks.reduce((sum, track) => sum + track.mostRanges, 0),
    literals,
  );
  for (;;) {
    const segment = Math.min(...tracks.map((track) => track.nextSegment));
    if (segment === Infinity) break;
    for (const track of tracks) if (track.nextSegment === segment) track.placeSegment(ranges);
  }
  const start = cuts[0]!.shown.from;
  return { tracks: tracks.map((track) => track.describe(start)), ranges: ranges.done() };
}

/** The chunks of a track. A chunk has the samples of one part that are in the cut. */
class TrackLayout {
  readonly #cut: TrackCut;
  readonly #firstPart: number;
  readonly #partEnd: number;
  readonly #counts: Uint32Array;
  readonly #offsets: Float64Array;
  #sizes: Uint32Array;
  /** The configurations that are used, in their order. */
  readonly #configurations: readonly number[];
  /**
   * The parameter sets that are inserted before the keyframes of each configuration. Empty when there is a single configuration. Of several
   * sample entries Chromium reads only the first. It switches to another configuration, and back to the first, only where the media has it.
   */
  readonly literals: readonly Uint8Array[];
  #nextPart: number;

  constructor(cut: TrackCut) {
    const { parts, samples, configurations } = cut.timeline;
    const { length } = parts.volumes;
    this.#cut = cut;
    this.#firstPart = firstIndex(length, (part) => parts.firstSamples[part + 1]! > cut.first);
    this.#partEnd = firstIndex(length, (part) => parts.firstSamples[part]! >= cut.end);
    this.#counts = new Uint32Array(this.#partEnd - this.#firstPart);
    this.#offsets = new Float64Array(this.#partEnd - this.#firstPart);
    this.#sizes = samples.sizes;
    this.#configurations = [...new Set(parts.configurations.subarray(this.#firstPart, this.#partEnd))];
    this.#nextPart = this.#firstPart;
    const restated = this.#configurations.map((number) => inBandConfiguration(configurations[number]!.sampleEntry));
    this.literals = restated.length > 1 && restated.some(({ length: bytes }) => bytes > 0) ? restated : [];
    if (this.literals.length > 0) this.#sizes = samples.sizes.slice();
  }

  /** The number of the segment that is placed next. Infinity when all are placed. */
  get nextSegment(): number {
    return this.#nextPart < this.#partEnd ? this.#cut.timeline.parts.segments[this.#nextPart]! : Infinity;
  }

  /** The largest number of ranges that its parts can need. */
  get mostRanges(): number {
    const { first, end } = this.#cut;
    return this.#partEnd - this.#firstPart + (this.literals.length > 0 ? 2 * (end - first) : 0);
  }

  /** Places the parts of the next segment. */
  placeSegment(ranges: RangeList): void {
    const { segments } = this.#cut.timeline.parts;
    const segment = this.nextSegment;
    while (this.#nextPart < this.#partEnd && segments[this.#nextPart] === segment) this.#placePart(ranges);
  }

  #placePart(ranges: RangeList): void {
    const { first, end, timeline } = this.#cut;
    const { rendition, parts, samples } = timeline;
    const part = this.#nextPart++;
    const chunk = part - this.#firstPart;
    const volume = parts.volumes[part]!;
    let offset = parts.offsets[part]!;
    let sample = parts.firstSamples[part]!;
    for (; sample < first; sample++) offset += samples.sizes[sample]!;
    const until = Math.min(end, parts.firstSamples[part + 1]!);
    this.#counts[chunk] = until - sample;
    let position = -1;
    let sizeBytes = 0;
    const flush = () => {
      if (sizeBytes === 0) return;
      const at = ranges.add(rendition, volume, offset, sizeBytes);
      if (position === -1) position = at;
      offset += sizeBytes;
      sizeBytes = 0;
    };
    const literal = this.#configurations.indexOf(parts.configurations[part]!);
    const restated = this.literals[literal];
    for (; sample < until; sample++) {
      if (restated !== undefined && samples.keyframes[sample] === 1) {
        flush();
        const at = ranges.add(LITERAL, literal, 0, restated.length);
        if (position === -1) position = at;
        this.#sizes[sample] = samples.sizes[sample]! + restated.length;
      }
      sizeBytes += samples.sizes[sample]!;
    }
    flush();
    this.#offsets[chunk] = Math.max(0, position);
  }

  /** @param start where the movie begins, in seconds of {@link MovieSpan} */
  describe(start: number): MovieTrack {
    const { timeline, first, end, shown } = this.#cut;
    const { kind, timescale, samples, parts, configurations } = timeline;
    const inits = this.#configurations.map((number) => configurations[number]!);
    return {
      kind,
      timescale,
      width: Math.max(...inits.map(({ width }) => width)),
      height: Math.max(...inits.map(({ height }) => height)),
      sampleEntries: inits.map(({ sampleEntry }) => sampleEntry),
      samples: {
        sizes: this.#sizes.subarray(first, end),
        durations: samples.durations.subarray(first, end),
        compositionOffsets: samples.compositionOffsets.subarray(first, end),
        keyframes: samples.keyframes.subarray(first, end),
      },
      chunks: {
        samples: this.#counts,
        entries: parts.configurations
          .subarray(this.#firstPart, this.#partEnd)
          .map((number) => this.#configurations.indexOf(number)),
        offsets: this.#offsets,
      },
      edit: {
        delayTicks: Math.round((shown.from - start) * MOVIE_TIMESCALE),
        mediaTime: Math.max(0, Math.round(shown.from * timescale) - decodedAt(timeline, first)),
        shownTicks: Math.round((shown.until - shown.from) * MOVIE_TIMESCALE),
      },
    };
  }
}

/** Collects ranges, and joins those that follow one another in a volume. */
class RangeList {
  readonly #positions: Float64Array;
  readonly #renditions: Uint8Array;
  readonly #volumes: Uint32Array;
  readonly #offsets: Float64Array;
  readonly #literals: readonly Uint8Array[];
  #count = 0;

  constructor(capacity: number, literals: readonly Uint8Array[]) {
    this.#positions = new Float64Array(capacity + 1);
    this.#renditions = new Uint8Array(capacity);
    this.#volumes = new Uint32Array(capacity);
    this.#offsets = new Float64Array(capacity);
    this.#literals = literals;
  }

  /** Adds bytes of a volume, or a literal. @returns where they begin in the media data */
  add(rendition: number, volume: number, offset: number, sizeBytes: number): number {
    const last = this.#count - 1;
    const position = this.#positions[this.#count]!;
    if (last >= 0 && this.#renditions[last] === rendition && this.#volumes[last] === volume) {
      const gap = offset - (this.#offsets[last]! + position - this.#positions[last]!);
      if (gap >= 0 && gap <= MAX_GAP_BYTES) {
        this.#positions[this.#count] = position + gap + sizeBytes;
        return position + gap;
      }
    }
    this.#renditions[this.#count] = rendition;
    this.#volumes[this.#count] = volume;
    this.#offsets[this.#count] = offset;
    this.#count += 1;
    this.#positions[this.#count] = position + sizeBytes;
    return position;
  }

  done(): MediaRanges {
    // Copied, because the columns may be longer than what is used of them.
    return {
      positions: this.#positions.slice(0, this.#count + 1),
      renditions: this.#renditions.slice(0, this.#count),
      volumes: this.#volumes.slice(0, this.#count),
      offsets: this.#offsets.slice(0, this.#count),
      literals: this.#literals,
    };
  }
}
