/**
 * Writes the head of an MP4 file (ISO/IEC 14496-12): everything before the bytes of its samples. Samples are given as columns, because a
 * day of video has millions of them.
 */
import { endianness } from 'node:os';
import type { TrackKind } from '#media/track.ts';
import { ascii, box, bytes, fullBox, type Piece, sequence, serialize, u16, u32, u64 } from './box.ts';
import { movieHeader, times, trackBox, versionFor } from './track-boxes.ts';

/**
 * The timescale of the movie, in which edit lists are stated: ticks per second. With 1000, as most files have, one frame too many would be
 * shown at the end of some cuts.
 */
export const MOVIE_TIMESCALE = 90_000;

/** Samples in decoding order. One entry of each column describes a sample. Times are in ticks of the track's timescale. */
export interface SampleColumns {
  /** In bytes. */
  readonly sizes: Uint32Array;
  readonly durations: Uint32Array;
  /** Presentation time minus decoding time. */
  readonly compositionOffsets: Int32Array;
  /** 1 for a keyframe, 0 otherwise. */
  readonly keyframes: Uint8Array;
}

/** Chunks in the order of their samples. A chunk is a run of samples whose bytes follow one another. */
export interface ChunkColumns {
  /** The number of samples of each chunk. */
  readonly samples: Uint32Array;
  /** The sample entry of each chunk, as an index of {@link MovieTrack.sampleEntries}. */
  readonly entries: Uint16Array;
  /** Where each chunk begins, in bytes from the first byte of the media data. */
  readonly offsets: Float64Array;
}

/** The part of a track that is shown. */
export interface Edit {
  /** How long the movie runs before the track begins, in ticks of the movie. */
  readonly delayTicks: number;
  /** The time in the track at which it begins to be shown, in ticks of the track. The first sample is decoded at 0. */
  readonly mediaTime: number;
  /** How long it is shown, in ticks of the movie. */
  readonly shownTicks: number;
}

/** A track of a movie. */
export interface MovieTrack {
  readonly kind: TrackKind;
  /** Ticks per second of the track. */
  readonly timescale: number;
  /** Displayed size in pixels. 0 for audio. */
  readonly width: number;
  readonly height: number;
  /** Whole boxes, as in `stsd`. There are several when the configuration changes. */
  readonly sampleEntries: readonly Uint8Array[];
  readonly samples: SampleColumns;
  readonly chunks: ChunkColumns;
  readonly edit: Edit;
}

/** `mdat` with a size of 64 bits. */
const MEDIA_HEADER_BYTES = 16;

/**
 * The head of a movie: `ftyp`, `moov` and the header of `mdat`. Its length does not depend on where the samples are.
 * @param mediaBytes the length of the media data that follows
 */
export function movieHead(tracks: readonly MovieTrack[], mediaBytes: number): Uint8Array<ArrayBuffer> {
  const brands = box('ftyp', ascii('isom'), u32(0), ascii('isomiso6mp41'));
  const lastTick = Math.max(...tracks.map(({ edit }) => edit.delayTicks + edit.shownTicks));
  const start = { bytes: 0 };
  const movie = box(
    'moov',
    movieHeader(MOVIE_TIMESCALE, lastTick, tracks.length + 1),
    ...tracks.map((track, index) => describe(track, index + 1, start)),
  );
  start.bytes = brands.sizeBytes + movie.sizeBytes + MEDIA_HEADER_BYTES;
  return serialize(brands, movie, u32(1), ascii('mdat'), u64(MEDIA_HEADER_BYTES + mediaBytes));
}

/** @param start where the media data begins, which is known once every box has been measured */
function describe(track: MovieTrack, id: number, start: { readonly bytes: number }): Piece {
  const { kind, timescale, width, height, edit, samples } = track;
  return trackBox({
    id,
    kind,
    timescale,
    width,
    height,
    shownTicks: edit.delayTicks + edit.shownTicks,
    mediaTicks: sum(samples.durations),
    edits: box('edts', editList(edit)),
    sampleTable: sampleTable(track, start),
  });
}

/** `elst`. Players support a single entry best, so there is a second one only when the track begins later than the movie. */
function editList({ delayTicks, mediaTime, shownTicks }: Edit): Piece {
  const version = versionFor(shownTicks);
  const rate = u16(1, 0);
  // The media time -1 marks an entry during which nothing is shown.
  const empty = version === 0 ? u32(delayTicks, 0xffffffff) : sequence([u64(delayTicks), u32(0xffffffff, 0xffffffff)]);
  const entries = sequence([...(delayTicks > 0 ? [empty, rate] : []), times(version, shownTicks, mediaTime), rate]);
  return fullBox('elst', version, 0, u32(delayTicks > 0 ? 2 : 1), entries);
}

function sampleTable({ sampleEntries, samples, chunks }: MovieTrack, start: { readonly bytes: number }): Piece {
  const isReordered = !isSame(samples.compositionOffsets, 0);
  const isEveryKeyframe = !samples.keyframes.includes(0);
  return box(
    'stbl',
    fullBox('stsd', 0, 0, u32(sampleEntries.length), ...sampleEntries.map(bytes)),
    fullBox('stts', 0, 0, runs(samples.durations)),
    ...(isReordered ? [compositionOffsets(samples.compositionOffsets)] : []),
    ...(isEveryKeyframe ? [] : [fullBox('stss', 0, 0, keyframeNumbers(samples.keyframes))]),
    fullBox('stsc', 0, 0, chunkRuns(chunks)),
    fullBox('stsz', 0, 0, u32(0, samples.sizes.length), table(samples.sizes)),
    fullBox('co64', 0, 0, chunkOffsets(chunks.offsets, start)),
  );
}

/** `ctts`. Only version 1 has negative offsets, and players from before 2012 do not know it. */
function compositionOffsets(offsets: Int32Array): Piece {
  const version = hasNegative(offsets) ? 1 : 0;
  return fullBox('ctts', version, 0, runs(offsets));
}

/** Encodes values as runs: a count and a value for equal values that follow one another. */
function runs(values: Uint32Array | Int32Array): Piece {
  let count = 0;
  for (let index = 0; index < values.length; index++) if (index === 0 || values[index] !== values[index - 1]) count++;
  return sequence([
    u32(count),
    {
      sizeBytes: 8 * count,
      write(to, at) {
        const view = new DataView(to.buffer, to.byteOffset + at, 8 * count);
        let entry = 0;
        for (let from = 0, until = 0; from < values.length; from = until) {
          const value = values[from]!;
          until = from + 1;
          while (until < values.length && values[until] === value) until++;
          view.setUint32(entry, until - from);
          view.setUint32(entry + 4, value); // negative values as two's complement
          entry += 8;
        }
      },
    },
  ]);
}

/** The numbers of samples that are keyframes, counted from 1. */
function keyframeNumbers(keyframes: Uint8Array): Piece {
  const numbers = new Uint32Array(sum(keyframes));
  let used = 0;
  for (let at = keyframes.indexOf(1); at !== -1; at = keyframes.indexOf(1, at + 1)) numbers[used++] = at + 1;
  return sequence([u32(numbers.length), table(numbers)]);
}

/** The entries of `stsc`: one for chunks that follow one another and have the same number of samples and the same sample entry. */
function chunkRuns({ samples, entries }: ChunkColumns): Piece {
  const rows = new Uint32Array(3 * samples.length);
  let used = 0;
  for (let chunk = 0; chunk < samples.length; chunk++) {
    if (chunk > 0 && samples[chunk] === samples[chunk - 1] && entries[chunk] === entries[chunk - 1]) continue;
    rows[used++] = chunk + 1;
    rows[used++] = samples[chunk]!;
    rows[used++] = entries[chunk]! + 1;
  }
  return sequence([u32(used / 3), table(rows.subarray(0, used))]);
}

function chunkOffsets(offsets: Float64Array, start: { readonly bytes: number }): Piece {
  return sequence([
    u32(offsets.length),
    {
      sizeBytes: 8 * offsets.length,
      write(to, at) {
        for (let chunk = 0; chunk < offsets.length; chunk++) {
          const position = start.bytes + offsets[chunk]!;
          to.writeUInt32BE(Math.floor(position / 2 ** 32), at + 8 * chunk);
          to.writeUInt32BE(position % 2 ** 32, at + 8 * chunk + 4);
        }
      },
    },
  ]);
}

/** Many 32-bit numbers, signed or unsigned. */
function table(values: Uint32Array | Int32Array): Piece {
  return {
    sizeBytes: values.byteLength,
    write(to, at) {
      // Copied as they are in memory, and then byte-swapped in place. This is ten times as fast as writing one number after another.
      const target = to.subarray(at, at + values.byteLength);
      target.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
      if (IS_LITTLE_ENDIAN) target.swap32();
    },
  };
}

const IS_LITTLE_ENDIAN = endianness() === 'LE';

// Loops, because a call for each of a million samples takes ten times as long.
function isSame(values: Int32Array, value: number): boolean {
  for (let index = 0; index < values.length; index++) if (values[index] !== value) return false;
  return true;
}

function hasNegative(values: Int32Array): boolean {
  for (let index = 0; index < values.length; index++) if (values[index]! < 0) return true;
  return false;
}

function sum(values: Uint32Array | Uint8Array): number {
  let total = 0;
  for (let index = 0; index < values.length; index++) total += values[index]!;
  return total;
}
