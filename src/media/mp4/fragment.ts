/**
 * Writes fragments: a run of samples as `moof` and `mdat`, a CMAF chunk (ISO/IEC 23000-19 §7.3.2.3). A part is one fragment.
 */
import type { Ticks } from '#lib/units.ts';
import { adjoining } from '#media/sample-memory.ts';
import type { Track } from '#media/track.ts';
import {
  COMPOSITION_OFFSETS,
  DATA_OFFSET,
  DEFAULT_BASE_IS_MOOF,
  DURATIONS,
  FLAGS,
  SIZES,
  VERSION_1,
} from './run-flags.ts';
import { sampleDefaults, sampleFlags, TRACK_ID } from './sample-defaults.ts';

/** A packet for a fragment, with its duration, which is known only once the next packet has arrived. */
export interface FragmentSample {
  /** Decoding time in ticks of the track's timescale, at least 0. For every sample but the first, it is the end of the sample before. */
  readonly dts: Ticks;
  /** Presentation time in the same ticks. It may be less than `dts`. */
  readonly pts: Ticks;
  readonly durationTicks: number;
  readonly keyframe: boolean;
  readonly data: Uint8Array;
}

// The sizes of boxes in bytes, including their headers. That of `trun` does not include the fields of samples.
const HEADER = 8;
const MFHD = 16;
const TFHD = 16;
const TFDT = 20;
const TRUN = 20;

/**
 * The most runs of adjoining samples that are not copied. With more, all samples are copied into one piece, because each piece is a write of
 * its own to every viewer.
 */
const MAX_RUNS = 3;

/**
 * Writes samples of one track as a fragment. Their bytes are not copied when they lie in few runs in memory.
 *
 * Values that the init segment states for every sample are left out. For audio these are all but the size, a tenth of the bytes. The
 * fragment is written field by field and not as a tree like the init segment, because a server writes hundreds a second.
 * @param sequenceNumber the ascending number of the fragment in its rendition, 32 bits
 * @param samples in decoding order, at least one
 * @returns the fragment in pieces, which may share the bytes of the samples
 */
export function fragment(
  track: Track,
  sequenceNumber: number,
  samples: readonly FragmentSample[],
): readonly Uint8Array[] {
  const [first] = samples;
  if (first === undefined) throw new RangeError('A fragment needs at least one sample.');
  if (first.dts < 0) throw new RangeError(`A fragment cannot start at ${first.dts}, before time 0.`);
  const { flags, fieldsPerSample, payloadBytes } = describeRun(track, samples);
  const trunBytes = TRUN + 4 * fieldsPerSample * samples.length;
  const trafBytes = HEADER + TFHD + TFDT + trunBytes;
  const moofBytes = HEADER + MFHD + trafBytes;

  const runs = adjoining(samples);
  const isCopied = runs.length > MAX_RUNS;
  const writer = new FieldWriter(moofBytes + HEADER + (isCopied ? payloadBytes : 0));
  writer.header(moofBytes, 'moof');
  writer.header(MFHD, 'mfhd');
  writer.u32(0);
  writer.u32(sequenceNumber);
  writer.header(trafBytes, 'traf');
  writer.header(TFHD, 'tfhd');
  writer.u32(DEFAULT_BASE_IS_MOOF);
  writer.u32(TRACK_ID);
  writer.header(TFDT, 'tfdt');
  writer.u32(VERSION_1);
  writer.u32(Math.floor(first.dts / 2 ** 32));
  writer.u32(first.dts % 2 ** 32);
  writer.header(trunBytes, 'trun');
  writer.u32(VERSION_1 | flags);
  writer.u32(samples.length);
  writer.u32(moofBytes + HEADER); // where the samples are, counted from the start of moof
  for (const sample of samples) {
    if (flags & DURATIONS) writer.u32(sample.durationTicks);
    writer.u32(sample.data.length);
    if (flags & FLAGS) writer.u32(sampleFlags(sample.keyframe));
    if (flags & COMPOSITION_OFFSETS) writer.u32(sample.pts - sample.dts); // signed: two's complement
  }
  writer.header(HEADER + payloadBytes, 'mdat');
  if (!isCopied) return [writer.written, ...runs];
  for (const run of runs) writer.bytes(run);
  return [writer.written];
}

/** Decides which fields `trun` (§8.8.8.2) has for each sample: those in which any sample differs from the track's defaults. */
function describeRun(track: Track, samples: readonly FragmentSample[]) {
  const defaults = sampleDefaults(track);
  let flags = DATA_OFFSET | SIZES;
  let payloadBytes = 0;
  for (const { durationTicks, keyframe, dts, pts, data } of samples) {
    if (durationTicks < 0) throw new RangeError(`A sample cannot last ${durationTicks} ticks.`);
    if (durationTicks !== defaults.durationTicks) flags |= DURATIONS;
    if (sampleFlags(keyframe) !== defaults.flags) flags |= FLAGS;
    if (pts !== dts) flags |= COMPOSITION_OFFSETS;
    payloadBytes += data.length;
  }
  const fieldsPerSample = [DURATIONS, SIZES, FLAGS, COMPOSITION_OFFSETS].filter((flag) => flags & flag).length;
  return { flags, fieldsPerSample, payloadBytes };
}

/** Writes fields one after another into a new buffer. */
class FieldWriter {
  // Not from Buffer's pool, of which a part would keep 8 kB alive for long. Not zeroed, because every byte is written.
  readonly written: Buffer;
  readonly #view: DataView;
  #at = 0;

  constructor(sizeBytes: number) {
    this.written = Buffer.allocUnsafeSlow(sizeBytes);
    this.#view = new DataView(this.written.buffer);
  }

  header(sizeBytes: number, type: string): void {
    this.u32(sizeBytes);
    this.#at += this.written.write(type, this.#at, 'latin1');
  }

  /** Writes the low 32 bits of an integer, signed or unsigned. */
  u32(value: number): void {
    this.#view.setUint32(this.#at, value);
    this.#at += 4;
  }

  bytes(value: Uint8Array): void {
    this.written.set(value, this.#at);
    this.#at += value.length;
  }
}
