/**
 * Reads the fragments that `fragment.ts` writes, without the bytes of their samples. Damaged bytes are refused with one type of error. The
 * memory that it takes is in proportion to the length of the bytes.
 */
import { BOX_HEADER_BYTES, BoxReader } from './box-reader.ts';
import { MalformedMp4Error } from './malformed-mp4.ts';
import {
  COMPOSITION_OFFSETS,
  DATA_OFFSET,
  DEFAULT_BASE_IS_MOOF,
  DURATIONS,
  FLAGS,
  SIZES,
  VERSION_1,
} from './run-flags.ts';
import { type SampleDefaults, sampleFlags, TRACK_ID } from './sample-defaults.ts';

/** The samples of a fragment in decoding order, as columns. One entry of each column describes a sample. */
export interface FragmentColumns {
  /** The ascending number of the fragment in its rendition. */
  readonly sequenceNumber: number;
  /** The decoding time of the first sample, in ticks of the track's timescale. */
  readonly baseDecodeTime: number;
  /** In bytes. */
  readonly sizes: Uint32Array;
  /** In ticks. The decoding time of a sample is that of the one before it plus the duration of that one. */
  readonly durations: Uint32Array;
  /** Presentation time minus decoding time, in ticks. */
  readonly compositionOffsets: Int32Array;
  /** 1 for a keyframe, 0 otherwise. */
  readonly keyframes: Uint8Array;
  /** The length of `moof`. The samples begin eight bytes after its end, after the header of `mdat`. */
  readonly moofBytes: number;
  /** The total size of the samples, which are the content of `mdat`. */
  readonly payloadBytes: number;
}

/** The whole length of a fragment in bytes: `moof` and `mdat`. */
export const fragmentBytes = ({ moofBytes, payloadBytes }: FragmentColumns): number =>
  moofBytes + BOX_HEADER_BYTES + payloadBytes;

/**
 * Reads a fragment.
 * @param bytes begin with `moof` and the header of `mdat`; bytes after them are not read
 * @param defaults the values that the init segment states for every sample
 * @throws {MalformedMp4Error} when `fragment` would not have written such bytes
 */
export function readFragment(bytes: Uint8Array, defaults: SampleDefaults): FragmentColumns {
  const file = new BoxReader(bytes);
  const moof = file.box('moof').content;
  const moofBytes = file.position;
  const header = moof.box('mfhd').content;
  must(header.u32() === 0, 'mfhd has an unknown version');
  const sequenceNumber = header.u32();
  const traf = moof.box('traf').content;
  const tfhd = traf.box('tfhd').content;
  must(tfhd.u32() === DEFAULT_BASE_IS_MOOF && tfhd.u32() === TRACK_ID, 'tfhd describes another track');
  const tfdt = traf.box('tfdt').content;
  must(tfdt.u32() === VERSION_1, 'tfdt has an unknown version');
  const baseDecodeTime = tfdt.u64();
  const trun = traf.box('trun').content;
  for (const { remaining } of [header, tfhd, tfdt, traf, moof]) must(remaining === 0, 'a box has unknown content');
  const run = readRun(trun, moofBytes, defaults);
  must(Number.isSafeInteger(baseDecodeTime + run.ticks), 'the time is too large');

  const payloadBytes = file.u32() - BOX_HEADER_BYTES;
  must(file.u32() === MDAT, 'no mdat follows');
  must(payloadBytes === run.sampleBytes, `the samples have ${run.sampleBytes} bytes, and mdat has ${payloadBytes}`);
  return { sequenceNumber, baseDecodeTime, ...run.columns, moofBytes, payloadBytes };
}

const MDAT = Buffer.from('mdat').readUInt32BE();

/** Reads `trun` (§8.8.8). For each of its optional fields, a flag in its header states whether it is there. */
function readRun(trun: BoxReader, moofBytes: number, defaults: SampleDefaults) {
  const flags = trun.u32() - VERSION_1;
  const count = trun.u32();
  const optional = DURATIONS | FLAGS | COMPOSITION_OFFSETS;
  must((flags & ~optional) === (DATA_OFFSET | SIZES), 'trun has unknown fields');
  must(trun.u32() === moofBytes + BOX_HEADER_BYTES, 'the samples do not begin after the header of mdat');
  const fields = [DURATIONS, SIZES, FLAGS, COMPOSITION_OFFSETS].filter((flag) => flags & flag).length;
  must(count > 0 && trun.remaining === 4 * fields * count, 'the length of trun does not fit its number of samples');

  const columns = {
    sizes: new Uint32Array(count),
    durations: new Uint32Array(count).fill(defaults.durationTicks),
    compositionOffsets: new Int32Array(count),
    keyframes: new Uint8Array(count).fill(keyframeBit(defaults.flags)),
  };
  let sampleBytes = 0;
  let ticks = 0;
  for (let index = 0; index < count; index++) {
    if (flags & DURATIONS) columns.durations[index] = trun.u32();
    sampleBytes += columns.sizes[index] = trun.u32();
    if (flags & FLAGS) columns.keyframes[index] = keyframeBit(trun.u32());
    if (flags & COMPOSITION_OFFSETS) columns.compositionOffsets[index] = trun.i32();
    ticks += columns.durations[index]!;
  }
  return { columns, sampleBytes, ticks };
}

function keyframeBit(flags: number): number {
  must(flags === sampleFlags(true) || flags === sampleFlags(false), 'a sample has unknown flags');
  return flags === sampleFlags(true) ? 1 : 0;
}

function must(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new MalformedMp4Error(`The fragment was not written by this server: ${otherwise}.`);
}
