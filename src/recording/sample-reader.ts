/**
 * Reads the samples of renditions from the index of a recording. Records of segments that a movie does not need are skipped.
 */
import { type InitDescription, readInit } from '#media/mp4/init-reader.ts';
import type { SampleColumns } from '#media/mp4/movie.ts';
import { type PartCollector, readRecords, sampleColumns } from './index-file.ts';
import type { IndexRecord, InitRecord, SegmentRecord } from './index-record.ts';
import type { RecordedSamples } from './recorded-samples.ts';

/** Which samples are read. */
export interface SampleRequest {
  /** The ids of renditions. */
  readonly renditions: readonly string[];
  /** The number of the first segment, and the number after that of the last one. */
  readonly fromSegment: number;
  readonly untilSegment: number;
  /** About how many samples each rendition has in these segments, so that memory is allocated only once. */
  readonly expectedSamples: readonly number[];
}

/** The initial length of columns. It is doubled whenever they are full. */
const FIRST_PARTS = 64;
const LEAST_SAMPLES = 256;
/** The most samples for which columns are allocated in advance: a day of audio in packets of 10 ms. */
const MOST_EXPECTED_SAMPLES = 8_640_000;

/** The size and the type of `mdat`. */
const MEDIA_HEADER_BYTES = 8;

/**
 * Reads samples.
 * @param files the index files of the recording, in order
 * @returns what each rendition has of these segments, in the order of their ids; undefined for those that have nothing
 * @throws {MalformedMp4Error} when an init segment is damaged
 */
export function readSamples(
  files: readonly Uint8Array[],
  { renditions, fromSegment, untilSegment, expectedSamples }: SampleRequest,
): readonly (RecordedSamples | undefined)[] {
  const collectors = renditions.map((_, index) => new SampleCollector(expectedSamples[index] ?? 0));
  /** The collectors, by the numbers that renditions have in the records. */
  const byNumber: (SampleCollector | undefined)[] = [];
  const visit = (record: IndexRecord): void => {
    if (record.type === 'init') {
      const collector = collectors[renditions.indexOf(record.id)];
      byNumber[record.rendition] = collector;
      collector?.init(record);
    } else if (record.type === 'segment') {
      const isWanted = record.number >= fromSegment && record.number < untilSegment;
      byNumber[record.rendition]?.segment(isWanted ? record : undefined);
    }
  };
  const parts: PartCollector = {
    wants: (rendition) => byNumber[rendition]?.isOpen === true,
    roomFor: (rendition, samples) => byNumber[rendition]!.roomFor(samples),
    add: (rendition, part, samples) => byNumber[rendition]!.part(part, samples),
  };
  for (const bytes of files) readRecords(bytes, visit, parts);
  return collectors.map((collector) => collector.samples);
}

/** Collects the parts of a rendition. */
class SampleCollector {
  readonly #configurations: InitDescription[] = [];
  /** Init segments by their numbers, with the index of their configuration. Those with the same bytes share a configuration. */
  readonly #inits = new Map<number, { readonly bytes: Uint8Array; readonly configuration: number }>();
  #segment: SegmentRecord | undefined;
  #configuration = 0;
  #offset = 0;
  #parts = 0;
  #samples = 0;

  #firstSamples = new Uint32Array(FIRST_PARTS);
  #decodeTimes = new Float64Array(FIRST_PARTS);
  #segments = new Uint32Array(FIRST_PARTS);
  #partConfigurations = new Uint16Array(FIRST_PARTS);
  #volumes = new Uint32Array(FIRST_PARTS);
  #offsets = new Float64Array(FIRST_PARTS);
  #columns: SampleColumns;

  /** @param expectedSamples the initial length of the columns of samples */
  constructor(expectedSamples: number) {
    this.#columns = sampleColumns(Math.max(LEAST_SAMPLES, Math.min(expectedSamples, MOST_EXPECTED_SAMPLES)));
  }

  /** Whether the next part is collected. */
  get isOpen(): boolean {
    return this.#segment !== undefined;
  }

  init({ number, bytes }: InitRecord): void {
    const same = this.#inits.values().find((known) => Buffer.compare(known.bytes, bytes) === 0);
    const configuration = same?.configuration ?? this.#configurations.push(readInit(bytes)) - 1;
    this.#inits.set(number, { bytes, configuration });
  }

  segment(record: SegmentRecord | undefined): void {
    const init = record && this.#inits.get(record.init);
    this.#segment = init && record;
    if (init === undefined || record === undefined) return;
    this.#configuration = init.configuration;
    this.#offset = record.offset;
  }

  roomFor(samples: number): { readonly columns: SampleColumns; readonly first: number } {
    while (this.#samples + samples > this.#columns.sizes.length) {
      this.#columns = largerColumns(this.#columns);
    }
    return { columns: this.#columns, first: this.#samples };
  }

  part({ sizeBytes, moofBytes, offsetTicks }: Parameters<PartCollector['add']>[1], samples: number): void {
    const segment = this.#segment!;
    const at = this.#parts;
    if (at + 1 >= this.#volumes.length) this.#growParts();
    this.#decodeTimes[at] = segment.startTicks + offsetTicks;
    this.#segments[at] = segment.number;
    this.#partConfigurations[at] = this.#configuration;
    this.#volumes[at] = segment.volume;
    this.#offsets[at] = this.#offset + moofBytes + MEDIA_HEADER_BYTES;
    this.#offset += sizeBytes;
    this.#samples += samples;
    this.#parts = at + 1;
    this.#firstSamples[at + 1] = this.#samples;
  }

  /** Everything that was collected. Undefined when there is nothing. */
  get samples(): RecordedSamples | undefined {
    const [parts, count] = [this.#parts, this.#samples];
    if (count === 0) return undefined;
    const { sizes, durations, compositionOffsets, keyframes } = this.#columns;
    return {
      configurations: this.#configurations,
      parts: {
        firstSamples: this.#firstSamples.subarray(0, parts + 1),
        decodeTimes: this.#decodeTimes.subarray(0, parts),
        segments: this.#segments.subarray(0, parts),
        configurations: this.#partConfigurations.subarray(0, parts),
        volumes: this.#volumes.subarray(0, parts),
        offsets: this.#offsets.subarray(0, parts),
      },
      samples: {
        sizes: sizes.subarray(0, count),
        durations: durations.subarray(0, count),
        compositionOffsets: compositionOffsets.subarray(0, count),
        keyframes: keyframes.subarray(0, count),
      },
    };
  }

  #growParts(): void {
    const capacity = 2 * this.#volumes.length;
    this.#firstSamples = moved(this.#firstSamples, new Uint32Array(capacity));
    this.#decodeTimes = moved(this.#decodeTimes, new Float64Array(capacity));
    this.#segments = moved(this.#segments, new Uint32Array(capacity));
    this.#partConfigurations = moved(this.#partConfigurations, new Uint16Array(capacity));
    this.#volumes = moved(this.#volumes, new Uint32Array(capacity));
    this.#offsets = moved(this.#offsets, new Float64Array(capacity));
  }
}

/** Larger columns, which begin with those of others. */
function largerColumns(from: SampleColumns): SampleColumns {
  const to = sampleColumns(2 * from.sizes.length);
  return {
    sizes: moved(from.sizes, to.sizes),
    durations: moved(from.durations, to.durations),
    compositionOffsets: moved(from.compositionOffsets, to.compositionOffsets),
    keyframes: moved(from.keyframes, to.keyframes),
  };
}

/** Copies a column into a longer one. */
function moved<Column extends { set(from: Column): void }>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
