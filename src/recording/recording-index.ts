/**
 * The index of a recording in memory: its renditions, and the segments of each in compact tables. Samples are not kept, because only the
 * heads of MP4s need them, and these are made from the index files.
 */
import type { PartTotals } from './index-file.ts';
import { readRecords } from './index-file.ts';
import type {
  IndexRecord,
  InitRecord,
  PartRecord,
  PictureRecord,
  SegmentEndRecord,
  SegmentRecord,
  TrackDescription,
} from './index-record.ts';
import type { PlacedPicture } from './picture-file.ts';
import { firstIndex } from './recorded-samples.ts';

/** The least media, in seconds, that can show that a declared frame rate is too low. With less, a burst at the beginning could be taken for it. */
const MEASURED_S = 10;

/** A segment of a rendition. */
export interface RecordedSegment {
  /** The same in all renditions for the same time. */
  readonly number: number;
  /** Decoding time of the first sample, in seconds of session time. */
  readonly startS: number;
  readonly durationS: number;
  /** The wall-clock time at which its first frame was shown, in milliseconds. */
  readonly programDateTimeMs: number;
  /** Whether it does not continue the segment before it. */
  readonly discontinuity: boolean;
  /** Whether a decoder can start with its first frame. */
  readonly independent: boolean;
  /** The number of its init segment. */
  readonly init: number;
  /** Where its bytes are: the number of the volume, and the range in it, in bytes. */
  readonly volume: number;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** The columns of a table of segments, in the form in which threads exchange them. Entries from `count` on are not used. */
export interface SegmentColumns {
  count: number;
  numbers: Uint32Array;
  startsS: Float64Array;
  durationsS: Float64Array;
  programDateTimesMs: Float64Array;
  /** The sum of 1 for a discontinuity and 2 for an independent segment. */
  flags: Uint8Array;
  inits: Uint16Array;
  volumes: Uint32Array;
  offsets: Uint32Array;
  sizesBytes: Uint32Array;
}

/** The segments of one rendition, 41 bytes each. Their numbers ascend, and some may be missing. */
export class SegmentTable {
  readonly columns: SegmentColumns;

  constructor(columns: SegmentColumns = emptyColumns()) {
    this.columns = columns;
  }

  /** The number of segments. */
  get count(): number {
    return this.columns.count;
  }

  /** The segment at an index from 0 to `count - 1`. Undefined for other indexes. */
  at(index: number): RecordedSegment | undefined {
    const { columns } = this;
    if (index < 0 || index >= columns.count) return undefined;
    const flags = columns.flags[index]!;
    return {
      number: columns.numbers[index]!,
      startS: columns.startsS[index]!,
      durationS: columns.durationsS[index]!,
      programDateTimeMs: columns.programDateTimesMs[index]!,
      discontinuity: (flags & 1) !== 0,
      independent: (flags & 2) !== 0,
      init: columns.inits[index]!,
      volume: columns.volumes[index]!,
      offset: columns.offsets[index]!,
      sizeBytes: columns.sizesBytes[index]!,
    };
  }

  /** The index of the segment with a number. -1 when there is none. */
  indexOf(number: number): number {
    const index = this.#firstFrom(this.columns.numbers, number);
    return index < this.count && this.columns.numbers[index] === number ? index : -1;
  }

  /** The index of the first segment with a number or a larger one. `count` when there is none. */
  indexFrom(number: number): number {
    return this.#firstFrom(this.columns.numbers, number);
  }

  /** The index of the last segment that begins before a wall-clock time in milliseconds. -1 when none does. */
  indexBefore(atMs: number): number {
    return this.#firstFrom(this.columns.programDateTimesMs, atMs) - 1;
  }

  /** The index of the first segment that ends after a wall-clock time in milliseconds. `count` when none does. */
  indexAt(atMs: number): number {
    const { programDateTimesMs, durationsS } = this.columns;
    let index = this.#firstFrom(programDateTimesMs, atMs);
    // Times of segments ascend, except where the media's clock was set back in between.
    while (index > 0 && programDateTimesMs[index - 1]! + durationsS[index - 1]! * 1000 > atMs) index -= 1;
    return index;
  }

  /** Stores a segment at an index: the last one, or `count` to add a segment. */
  set(index: number, segment: RecordedSegment): void {
    const { columns } = this;
    if (index >= columns.numbers.length) grow(columns);
    columns.count = Math.max(columns.count, index + 1);
    columns.numbers[index] = segment.number;
    columns.startsS[index] = segment.startS;
    columns.durationsS[index] = segment.durationS;
    columns.programDateTimesMs[index] = segment.programDateTimeMs;
    columns.flags[index] = Number(segment.discontinuity) + 2 * Number(segment.independent);
    columns.inits[index] = segment.init;
    columns.volumes[index] = segment.volume;
    columns.offsets[index] = segment.offset;
    columns.sizesBytes[index] = segment.sizeBytes;
  }

  #firstFrom(column: Uint32Array | Float64Array, value: number): number {
    return firstIndex(this.count, (index) => column[index]! >= value);
  }
}

/** The index of one rendition, in the form in which threads exchange it. */
export interface RenditionData {
  readonly id: string;
  readonly inits: InitRecord[];
  readonly segments: SegmentColumns;
  /** Whether the last segment of the table may still grow. */
  isOpen: boolean;
  /** Totals of all segments. */
  sizeBytes: number;
  durationS: number;
  /** The number of samples. */
  samples: number;
  /** The sum of the durations of all samples, in ticks. */
  sampleTicks: number;
  /** The highest bitrate of a whole segment, in bits per second. */
  peakBps: number;
}

/** The size and the duration of a part, without its samples. */
export type PartSize = Pick<PartRecord, 'rendition' | 'sizeBytes'> & {
  /** The number of its samples. */
  readonly samples: number;
  readonly durationTicks: number;
};

/** A record as it is kept in memory: of a part, only its size and its duration. */
export type KeptRecord =
  | InitRecord
  | SegmentRecord
  | ({ readonly type: 'part' } & PartSize)
  | SegmentEndRecord
  | PictureRecord
  | { readonly type: 'end' };

/** One rendition of a recording. */
export class RecordedRendition {
  readonly data: RenditionData;
  readonly segments: SegmentTable;

  constructor(data: RenditionData) {
    this.data = data;
    this.segments = new SegmentTable(data.segments);
  }

  /** The id of the rendition, such as `source`. */
  get id(): string {
    return this.data.id;
  }

  /** How many segments are complete, and can be listed in a playlist. */
  get completeCount(): number {
    return this.segments.count - Number(this.data.isOpen);
  }

  /** The description of the track, from its newest init segment. */
  get track(): TrackDescription {
    return this.data.inits.at(-1)!.track;
  }

  /** The init segment with a number. Undefined when there is none. */
  init(number: number): InitRecord | undefined {
    return this.data.inits.find((init) => init.number === number);
  }

  /** The average bitrate of the whole recording, in bits per second. */
  get averageBps(): number {
    return this.data.durationS === 0 ? 0 : Math.round((8 * this.data.sizeBytes) / this.data.durationS);
  }

  /**
   * The declared frame rate, or the one measured over the whole recording where that is clearly higher or none is declared. A measured rate
   * that is lower is not used, because pauses lower it, too. Undefined for audio and before the first part.
   */
  get framesPerSecond(): number | undefined {
    const { track } = this;
    if (track.kind === 'audio' || this.data.sampleTicks === 0) return undefined;
    const seconds = this.data.sampleTicks / track.timescale;
    const measured = this.data.samples / seconds;
    const declared = track.declaredFrameRate ?? measured;
    return seconds >= MEASURED_S && measured > 1.1 * declared ? measured : declared;
  }
}

/** The index of a recording, which grows while it runs. */
export class RecordingIndex {
  readonly renditions: RecordedRendition[];
  /** Whether the recording has ended. */
  hasEnded: boolean;

  readonly #pictures: PlacedPicture[];

  constructor({ renditions, pictures, hasEnded }: IndexData = { renditions: [], pictures: [], hasEnded: false }) {
    this.renditions = renditions.map((data) => new RecordedRendition(data));
    this.#pictures = [...pictures];
    this.hasEnded = hasEnded;
  }

  /** The index as plain data, which can be sent to another thread. It shares its columns with this object. */
  get data(): IndexData {
    const { pictures, hasEnded } = this;
    return { renditions: this.renditions.map(({ data }) => data), pictures, hasEnded };
  }

  /** The pictures, in the order of their records. */
  get pictures(): readonly PlacedPicture[] {
    return this.#pictures;
  }

  /** The rendition with an id. Undefined when there is none. */
  rendition(id: string): RecordedRendition | undefined {
    return this.renditions.find((each) => each.id === id);
  }

  /** The leading rendition, whose segments decide about those of the others: the source, or the audio of a session without video. */
  get leader(): RecordedRendition | undefined {
    return this.rendition('source') ?? this.rendition('audio');
  }

  /** The renditions in the order of the multivariant playlist: the source first, audio last. */
  get listed(): readonly RecordedRendition[] {
    const { leader } = this;
    const rank = (each: RecordedRendition) => (each === leader ? 0 : each.track.kind === 'video' ? 1 : 2);
    return this.renditions.toSorted((a, b) => rank(a) - rank(b));
  }

  /** The largest number of a segment in any rendition. -1 when there is none. */
  get lastNumber(): number {
    return Math.max(-1, ...this.renditions.map(({ segments }) => segments.at(segments.count - 1)?.number ?? -1));
  }

  /** Adds a record. One of a rendition that has no init segment is ignored. */
  apply(record: KeptRecord): void {
    if (record.type === 'end') {
      this.closeSegments();
      this.hasEnded = true;
      return;
    }
    if (record.type === 'picture') {
      const { type: _, ...picture } = record;
      this.#pictures.push(picture);
      return;
    }
    const rendition = record.type === 'init' ? this.#renditionOf(record) : this.renditions[record.rendition];
    if (rendition === undefined) return;
    switch (record.type) {
      case 'init':
        rendition.data.inits.push(record);
        break;
      case 'segment':
        beginSegment(rendition, record);
        break;
      case 'part':
        addPart(rendition, record);
        break;
      case 'segment_end':
        closeSegment(rendition, record.durationTicks);
        break;
    }
  }

  /** Closes the segments that have no end because the process was killed. They count as complete. */
  closeSegments(): void {
    for (const rendition of this.renditions) closeSegment(rendition);
  }

  #renditionOf({ rendition, id }: InitRecord): RecordedRendition | undefined {
    if (rendition === this.renditions.length) {
      const totals = { sizeBytes: 0, durationS: 0, samples: 0, sampleTicks: 0, peakBps: 0 };
      const data = { id, inits: [], segments: emptyColumns(), isOpen: false, ...totals };
      this.renditions.push(new RecordedRendition(data));
    }
    return this.renditions[rendition];
  }
}

/** An index in the form in which threads exchange it. */
export interface IndexData {
  readonly renditions: readonly RenditionData[];
  readonly pictures: readonly PlacedPicture[];
  readonly hasEnded: boolean;
}

/**
 * Reads the index of a recording from its index files, which must be in order. Segments without an end, because the process was killed,
 * count as complete.
 */
export function readIndex(files: readonly Uint8Array[]): RecordingIndex {
  const index = new RecordingIndex();
  const parts: PartTotals = {
    total: (rendition, { sizeBytes }, samples, durationTicks) => {
      index.apply({ type: 'part', rendition, sizeBytes, samples, durationTicks });
      return true;
    },
  };
  const visit = (record: IndexRecord): void => {
    if (record.type === 'part') index.apply(partSize(record));
    else if (record.type !== 'sync') index.apply(record);
  };
  for (const bytes of files) readRecords(bytes, visit, parts);
  index.closeSegments();
  return index;
}

/** Returns what is kept in memory of a part. */
export function partSize({ type, rendition, sizeBytes, samples }: PartRecord): Extract<KeptRecord, { type: 'part' }> {
  const { length } = samples.sizes;
  return { type, rendition, sizeBytes, samples: length, durationTicks: sumOf(samples.durations, length) };
}

function sumOf(column: Uint32Array, count: number): number {
  let sum = 0;
  for (let index = 0; index < count; index++) sum += column[index]!;
  return sum;
}

function beginSegment(rendition: RecordedRendition, record: SegmentRecord): void {
  closeSegment(rendition);
  const { number, volume, offset, init, programDateTimeMs, discontinuity, independent } = record;
  const startS = record.startTicks / timescaleOf(rendition, init);
  const times = { startS, durationS: 0, programDateTimeMs };
  const { segments, data } = rendition;
  segments.set(segments.count, { number, ...times, discontinuity, independent, init, volume, offset, sizeBytes: 0 });
  data.isOpen = true;
}

function addPart({ segments, data }: RecordedRendition, part: PartSize): void {
  const { columns } = segments;
  const last = segments.count - 1;
  if (last < 0) return;
  const durationS = part.durationTicks / timescaleOf({ data }, columns.inits[last]!);
  columns.durationsS[last]! += durationS;
  columns.sizesBytes[last]! += part.sizeBytes;
  data.sizeBytes += part.sizeBytes;
  data.durationS += durationS;
  data.samples += part.samples;
  data.sampleTicks += part.durationTicks;
}

/** Closes the last segment. @param durationTicks its duration; by default that of its parts together */
function closeSegment({ segments, data }: RecordedRendition, durationTicks?: number): void {
  if (!data.isOpen) return;
  data.isOpen = false;
  const last = segments.count - 1;
  const segment = segments.at(last)!;
  if (segment.sizeBytes === 0) {
    // The process was killed before its first part.
    data.segments.count = last;
    return;
  }
  if (durationTicks !== undefined) {
    const durationS = durationTicks / timescaleOf({ data }, segment.init);
    data.durationS += durationS - segment.durationS;
    segments.set(last, { ...segment, durationS });
  }
  const { durationS, sizeBytes } = segments.at(last)!;
  if (durationS > 0) data.peakBps = Math.max(data.peakBps, Math.round((8 * sizeBytes) / durationS));
}

function timescaleOf({ data }: Pick<RecordedRendition, 'data'>, init: number): number {
  return data.inits.find(({ number }) => number === init)?.track.timescale ?? 1;
}

const FIRST_CAPACITY = 64;

function emptyColumns(): SegmentColumns {
  return {
    count: 0,
    numbers: new Uint32Array(FIRST_CAPACITY),
    startsS: new Float64Array(FIRST_CAPACITY),
    durationsS: new Float64Array(FIRST_CAPACITY),
    programDateTimesMs: new Float64Array(FIRST_CAPACITY),
    flags: new Uint8Array(FIRST_CAPACITY),
    inits: new Uint16Array(FIRST_CAPACITY),
    volumes: new Uint32Array(FIRST_CAPACITY),
    offsets: new Uint32Array(FIRST_CAPACITY),
    sizesBytes: new Uint32Array(FIRST_CAPACITY),
  };
}

function grow(columns: SegmentColumns): void {
  const larger = <Column extends { readonly length: number; set(from: Column): void }>(from: Column, to: Column) => {
    to.set(from);
    return to;
  };
  const capacity = 2 * columns.numbers.length;
  columns.numbers = larger(columns.numbers, new Uint32Array(capacity));
  columns.startsS = larger(columns.startsS, new Float64Array(capacity));
  columns.durationsS = larger(columns.durationsS, new Float64Array(capacity));
  columns.programDateTimesMs = larger(columns.programDateTimesMs, new Float64Array(capacity));
  columns.flags = larger(columns.flags, new Uint8Array(capacity));
  columns.inits = larger(columns.inits, new Uint16Array(capacity));
  columns.volumes = larger(columns.volumes, new Uint32Array(capacity));
  columns.offsets = larger(columns.offsets, new Uint32Array(capacity));
  columns.sizesBytes = larger(columns.sizesBytes, new Uint32Array(capacity));
}
