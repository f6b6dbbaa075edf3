/**
 * The index of a recording: what its volumes contain, so that playlists, MP4s and clips can be made without reading media.
 *
 * The time of a recording is divided into periods of about a minute. A volume is a fragmented MP4 file with the media of one rendition in
 * one period. There is also one index file for each period (`index.0`, `index.1`, ...). Joined in this order they are the index.
 *
 * An index is a sequence of records, to which records are only appended. Each is a length of 32 bits, the CRC-32 of what follows, the type,
 * and numbers of variable length. The records of one rendition are in the order of its media. Those of different renditions may be in any
 * order. Of a file that was cut off anywhere, all whole records before the cut can be read.
 */
import { crc32 } from 'node:zlib';
import type { SampleColumns } from '#media/mp4/movie.ts';
import type { IndexRecord, PartRecord, TrackDescription } from './index-record.ts';
import { HEADER_BYTES, LONGEST_NUMBER, MAX_RECORD_BYTES, NumberReader, NumberWriter } from './record-body.ts';

/**
 * Collects the parts of an index in columns, so that a long index is read without one object for each part. The CRCs of parts are not
 * checked, because that was done when the recording was opened.
 */
export interface PartCollector {
  /** Whether the next part of a rendition is to be collected. Other parts are skipped. */
  wants(rendition: number): boolean;
  /** Returns columns that have room for this many samples from the index `first` on. */
  roomFor(rendition: number, samples: number): { readonly columns: SampleColumns; readonly first: number };
  /** Adds a part, whose samples were written to the columns that {@link roomFor} returned. */
  add(rendition: number, part: Pick<PartRecord, 'sizeBytes' | 'moofBytes' | 'offsetTicks'>, samples: number): void;
}

/** Takes only the totals of parts. Sizes of samples, which are most of a long index, are skipped. */
export interface PartTotals {
  /**
   * Adds a part.
   * @param durationTicks the sum of the durations of its samples
   * @returns false to end before this part
   */
  total(rendition: number, part: Pick<PartRecord, 'sizeBytes'>, samples: number, durationTicks: number): boolean;
}

/** The name of the index file of a period. Volumes with the same number belong to it. */
export const indexName = (period: number): string => `index.${period}`;
/** The name of the index file of a whole recording that has ended. It replaces the index files of the periods. */
export const WHOLE_INDEX = 'index';
/** The name of a volume. @param volume the number of its period */
export const volumeName = (renditionId: string, volume: number): string => `${renditionId}.${volume}.mp4`;

/**
 * The largest index that is read, all its files together. Readers have it in memory as a whole. A day of six renditions with B-frames takes
 * 105 MiB.
 */
export const MAX_INDEX_BYTES = 256 * 1024 * 1024;

const TYPES = ['init', 'segment', 'part', 'segment_end', 'sync', 'end', 'picture'] as const;
const PART_TYPE = TYPES.indexOf('part');
const PICTURE_KINDS = ['poster', 'tile'] as const;
const RANGES = [undefined, 'SDR', 'HLG', 'PQ'] as const;

// How the columns of samples are written.
const SAME_DURATION = 1;
const NO_COMPOSITION_OFFSETS = 2;
const ALL_KEYFRAMES = 4;
const ONE_KEYFRAME = 8; // only the first sample is one

/**
 * Encodes a record, with its length and its CRC.
 * @throws {RangeError} when it is longer than a record may be
 */
export function encodeRecord(record: IndexRecord): Uint8Array {
  const writer = new NumberWriter(capacityOf(record));
  writer.number(TYPES.indexOf(record.type));
  switch (record.type) {
    case 'init':
      writer.number(record.rendition);
      writer.text(record.id);
      writer.number(record.number);
      writeTrack(writer, record.track);
      writer.bytes(record.bytes);
      break;
    case 'segment':
      writer.number(record.rendition);
      writer.number(record.number);
      writer.number(record.volume);
      writer.number(record.offset);
      writer.number(record.init);
      writer.number(record.startTicks);
      writer.number(record.programDateTimeMs);
      writer.number(Number(record.discontinuity) + 2 * Number(record.independent));
      break;
    case 'part':
      writer.number(record.rendition);
      writer.number(record.sizeBytes);
      writer.number(record.moofBytes);
      writer.number(record.crc32);
      writer.number(record.offsetTicks);
      writeSamples(writer, record.samples);
      break;
    case 'segment_end':
      writer.number(record.rendition);
      writer.number(record.durationTicks);
      break;
    case 'picture':
      writer.number(PICTURE_KINDS.indexOf(record.kind));
      writer.number(record.atMs);
      writer.number(record.period);
      writer.number(record.offset);
      writer.number(record.sizeBytes);
      break;
    default:
  }
  return writer.withHeader();
}

/**
 * Reads records from the beginning of bytes up to the first one that is not whole. Each is handed on before the next one is read. Whatever
 * the bytes are, it does not throw, and the memory that it takes is in proportion to their length.
 * @param visit called with each record, and with the position at which the next one begins
 * @param parts takes the parts; `visit` is then called with all other records only
 * @returns the length of these records in bytes
 */
export function readRecords(
  bytes: Uint8Array,
  visit: (record: IndexRecord, end: number) => void,
  parts?: PartCollector | PartTotals,
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = new NumberReader(bytes);
  let at = 0;
  while (bytes.length - at >= HEADER_BYTES) {
    const sizeBytes = view.getUint32(at);
    const from = at + HEADER_BYTES;
    if (sizeBytes > MAX_RECORD_BYTES || sizeBytes > bytes.length - from) break;
    const end = from + sizeBytes;
    reader.moveTo(from, end);
    // The numbers of types are small, so each takes a byte. A larger number of a rendition is read with the record.
    const isPart = parts !== undefined && bytes[from] === PART_TYPE && bytes[from + 1]! < 128;
    if (isPart && 'wants' in parts) {
      if (parts.wants(bytes[from + 1]!) && !collectPart(reader, parts)) break;
      at = end;
      continue;
    }
    if (crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + from, sizeBytes)) !== view.getUint32(at + 4)) break;
    if (isPart && !('wants' in parts)) {
      if (!totalPart(reader, parts)) break;
      at = end;
      continue;
    }
    const record = readRecord(reader);
    if (record === undefined) break;
    at = end;
    visit(record, at);
  }
  return at;
}

/** Reads a part into the columns of a collector. @returns false when it does not have the format of this version */
function collectPart(reader: NumberReader, parts: PartCollector): boolean {
  reader.number(); // the type of the record
  const [rendition, sizeBytes, moofBytes] = [reader.number(), reader.number(), reader.number()];
  reader.number(); // the CRC of its bytes
  const offsetTicks = reader.number();
  // Each sample takes at least one byte.
  const count = Math.min(reader.number(), reader.remaining);
  const { columns, first } = parts.roomFor(rendition, count);
  readColumns(reader, columns, first, first + count);
  if (!reader.isAtEnd) return false;
  parts.add(rendition, { sizeBytes, moofBytes, offsetTicks }, count);
  return true;
}

/** Reads the totals of a part. @returns false when the part does not have the format of this version, or is not taken */
function totalPart(reader: NumberReader, parts: PartTotals): boolean {
  reader.number(); // the type of the record
  const [rendition, sizeBytes] = [reader.number(), reader.number()];
  for (let skipped = 0; skipped < 3; skipped++) reader.number(); // moofBytes, the CRC of its bytes, offsetTicks
  const count = Math.min(reader.number(), reader.remaining);
  const form = reader.number();
  reader.skip(count); // sizes
  const durationTicks = form & SAME_DURATION ? count * reader.number() : reader.sum(count);
  if (reader.isTorn) return false;
  return parts.total(rendition, { sizeBytes }, count, durationTicks);
}

function capacityOf(record: IndexRecord): number {
  if (record.type === 'part') return 64 + record.samples.sizes.length * (3 * LONGEST_NUMBER + 1);
  if (record.type === 'init') {
    const texts = record.id.length + record.track.codec.length + record.track.rfc6381.length;
    return 128 + 3 * texts + record.bytes.length;
  }
  return 80;
}

function writeTrack(writer: NumberWriter, track: TrackDescription): void {
  writer.number(track.kind === 'video' ? 0 : 1);
  writer.text(track.codec);
  writer.text(track.rfc6381);
  writer.number(track.timescale);
  if (track.kind === 'video') {
    writer.number(track.width);
    writer.number(track.height);
    writer.number(Math.round((track.declaredFrameRate ?? 0) * 1000));
    writer.number(RANGES.indexOf(track.videoRange));
  } else {
    writer.number(track.channels);
    writer.number(track.sampleRate);
  }
}

function writeSamples(writer: NumberWriter, { sizes, durations, compositionOffsets, keyframes }: SampleColumns): void {
  const [firstDuration = 0] = durations;
  const keyframeCount = keyframes.reduce((sum, bit) => sum + bit, 0);
  let form = 0;
  if (durations.every((ticks) => ticks === firstDuration)) form |= SAME_DURATION;
  if (compositionOffsets.every((ticks) => ticks === 0)) form |= NO_COMPOSITION_OFFSETS;
  if (keyframeCount === keyframes.length) form |= ALL_KEYFRAMES;
  else if (keyframeCount === 1 && keyframes[0] === 1) form |= ONE_KEYFRAME;
  writer.number(sizes.length);
  writer.number(form);
  for (const size of sizes) writer.number(size);
  if (form & SAME_DURATION) writer.number(firstDuration);
  else for (const ticks of durations) writer.number(ticks);
  if (!(form & NO_COMPOSITION_OFFSETS)) {
    // Zigzag encoding: small numbers of either sign stay short.
    for (const ticks of compositionOffsets) writer.number(ticks < 0 ? -2 * ticks - 1 : 2 * ticks);
  }
  if (!(form & (ALL_KEYFRAMES | ONE_KEYFRAME))) for (const bit of keyframes) writer.number(bit);
}

/** Reads the body of a record. Undefined when it does not have the format of this version. */
function readRecord(reader: NumberReader): IndexRecord | undefined {
  const record = readBody(TYPES[reader.number()], reader);
  return reader.isAtEnd ? record : undefined;
}

function readBody(type: (typeof TYPES)[number] | undefined, reader: NumberReader): IndexRecord | undefined {
  switch (type) {
    case 'init': {
      const [rendition, id, number] = [reader.number(), reader.text(), reader.number()];
      return { type, rendition, id, number, track: readTrack(reader), bytes: reader.bytes() };
    }
    case 'segment': {
      const [rendition, number, volume, offset] = [reader.number(), reader.number(), reader.number(), reader.number()];
      const [init, startTicks, programDateTimeMs, flags] = [
        reader.number(),
        reader.number(),
        reader.number(),
        reader.number(),
      ];
      const [discontinuity, independent] = [(flags & 1) !== 0, (flags & 2) !== 0];
      return {
        type,
        rendition,
        number,
        volume,
        offset,
        init,
        startTicks,
        programDateTimeMs,
        discontinuity,
        independent,
      };
    }
    case 'part': {
      const [rendition, sizeBytes, moofBytes] = [reader.number(), reader.number(), reader.number()];
      const [crc, offsetTicks] = [reader.number(), reader.number()];
      return { type, rendition, sizeBytes, moofBytes, crc32: crc, offsetTicks, samples: readSamples(reader) };
    }
    case 'segment_end':
      return { type, rendition: reader.number(), durationTicks: reader.number() };
    case 'picture': {
      const [kind, atMs, period] = [PICTURE_KINDS[reader.number()], reader.number(), reader.number()];
      const [offset, sizeBytes] = [reader.number(), reader.number()];
      return kind && { type, kind, atMs, period, offset, sizeBytes };
    }
    case 'sync':
    case 'end':
      return { type };
    default:
      return undefined;
  }
}

function readTrack(reader: NumberReader): TrackDescription {
  const kind = reader.number() === 0 ? 'video' : 'audio';
  const [codec, rfc6381, timescale] = [reader.text(), reader.text(), reader.number()];
  if (kind === 'audio') {
    return { kind, codec, rfc6381, timescale, channels: reader.number(), sampleRate: reader.number() };
  }
  const [width, height, frameRate, range] = [reader.number(), reader.number(), reader.number(), reader.number()];
  const declaredFrameRate = frameRate === 0 ? undefined : frameRate / 1000;
  return { kind, codec, rfc6381, timescale, width, height, declaredFrameRate, videoRange: RANGES[range] };
}

function readSamples(reader: NumberReader): SampleColumns {
  // Each sample takes at least one byte.
  const count = Math.min(reader.number(), reader.remaining);
  const columns = sampleColumns(count);
  readColumns(reader, columns, 0, count);
  return columns;
}

/** Columns with room for a number of samples. */
export function sampleColumns(capacity: number): SampleColumns {
  return {
    sizes: new Uint32Array(capacity),
    durations: new Uint32Array(capacity),
    compositionOffsets: new Int32Array(capacity),
    keyframes: new Uint8Array(capacity),
  };
}

/** Reads samples into columns, from `first` to `end`. */
function readColumns(reader: NumberReader, columns: SampleColumns, first: number, end: number): void {
  const { sizes, durations, compositionOffsets, keyframes } = columns;
  const form = reader.number();
  reader.column(sizes, first, end);
  if (form & SAME_DURATION) durations.fill(reader.number(), first, end);
  else reader.column(durations, first, end);
  if (form & NO_COMPOSITION_OFFSETS) compositionOffsets.fill(0, first, end);
  else {
    reader.column(compositionOffsets, first, end);
    for (let index = first; index < end; index++) {
      const value = compositionOffsets[index]!;
      compositionOffsets[index] = (value >>> 1) ^ -(value & 1);
    }
  }
  if (form & ALL_KEYFRAMES) keyframes.fill(1, first, end);
  else if (form & ONE_KEYFRAME) keyframes.fill(0, first, end).fill(1, first, Math.min(first + 1, end));
  else for (let index = first; index < end; index++) keyframes[index] = reader.number();
}
