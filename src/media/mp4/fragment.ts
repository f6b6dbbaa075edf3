/**
 * The fragment: a run of samples as `moof` and `mdat`, a CMAF chunk (ISO/IEC 23000-19 §7.3.2.3). A part is one fragment.
 */
import type { Ticks } from '#lib/units.ts';
import type { Track } from '#media/track.ts';
import { box, bytes, fullBox, type Piece, serialize, u32, u64 } from './box.ts';
import { sampleDefaults, sampleFlags, TRACK_ID } from './sample-defaults.ts';

/** One packet on its way into a fragment, with the duration that only its successor's time tells. */
export interface FragmentSample {
  /** Decoding time in ticks of the track's timescale, from 0. Equals the one before plus its duration, except for the first. */
  readonly dts: Ticks;
  /** Presentation time in the same ticks; may be less than `dts`. */
  readonly pts: Ticks;
  readonly durationTicks: number;
  readonly keyframe: boolean;
  readonly data: Uint8Array;
}

const MDAT_HEADER_BYTES = 8;

// Flags of tfhd (§8.8.7) and trun (§8.8.8).
const DEFAULT_BASE_IS_MOOF = 0x020000;
const DATA_OFFSET = 0x000001;
const DURATIONS = 0x000100;
const SIZES = 0x000200;
const FLAGS = 0x000400;
const COMPOSITION_OFFSETS = 0x000800;

/**
 * Writes samples of one track as a fragment, in one allocation, each sample's bytes copied once.
 *
 * What the init segment of the track already says of every sample is left out: for audio that is all but the size, a
 * tenth of its bytes.
 * @param sequenceNumber of the fragment in its rendition; counts up, 32 bits
 * @param samples in decoding order, at least one
 */
export function fragment(track: Track, sequenceNumber: number, samples: readonly FragmentSample[]): Uint8Array {
  const [first] = samples;
  if (first === undefined) throw new RangeError('A fragment needs at least one sample.');
  const run = sampleRun(track, samples);
  const movieFragment = (dataOffset: number): Piece =>
    box(
      'moof',
      fullBox('mfhd', 0, 0, u32(sequenceNumber)),
      box(
        'traf',
        fullBox('tfhd', 0, DEFAULT_BASE_IS_MOOF, u32(TRACK_ID)),
        fullBox('tfdt', 1, 0, u64(first.dts)),
        fullBox('trun', 1, run.flags, u32(samples.length, dataOffset), u32(...run.fields)),
      ),
    );
  // The samples' place counts from the start of moof, whose size does not depend on what is written there.
  const dataOffset = movieFragment(0).sizeBytes + MDAT_HEADER_BYTES;
  return serialize(movieFragment(dataOffset), box('mdat', ...samples.map(({ data }) => bytes(data))));
}

/** The fields of each sample in a `trun` (§8.8.8.2), without those that are the track's defaults throughout. */
function sampleRun(track: Track, samples: readonly FragmentSample[]): { flags: number; fields: readonly number[] } {
  const defaults = sampleDefaults(track);
  const durations = samples.some(({ durationTicks }) => durationTicks !== defaults.durationTicks);
  const flags = samples.some((sample) => sampleFlags(sample.keyframe) !== defaults.flags);
  const compositionOffsets = samples.some(({ dts, pts }) => pts !== dts);
  const fields: number[] = [];
  for (const sample of samples) {
    if (durations) fields.push(sample.durationTicks);
    fields.push(sample.data.length);
    if (flags) fields.push(sampleFlags(sample.keyframe));
    if (compositionOffsets) fields.push((sample.pts - sample.dts) >>> 0); // signed in version 1: two's complement
  }
  return {
    flags:
      DATA_OFFSET |
      SIZES |
      (durations ? DURATIONS : 0) |
      (flags ? FLAGS : 0) |
      (compositionOffsets ? COMPOSITION_OFFSETS : 0),
    fields,
  };
}
