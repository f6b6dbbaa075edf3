/**
 * Default values of samples: the init segment states them once (`trex`), and fragments state only values that differ.
 */
import type { Track } from '#media/track.ts';

/** The id of the only track of an init segment and its fragments. It is the same in all renditions, because each has its own init segment. */
export const TRACK_ID = 1;

/** Sample flags of ISO/IEC 14496-12 §8.8.3.1: sample_depends_on 2 (nothing). */
const SYNC = 0x02000000;
/** sample_depends_on 1 (others), sample_is_non_sync_sample. */
const NON_SYNC = 0x01010000;

/** The flags of a sample. */
export const sampleFlags = (keyframe: boolean): number => (keyframe ? SYNC : NON_SYNC);

/** The values of samples whose fragment states no others. */
export interface SampleDefaults {
  /** 0 means that every fragment states durations. */
  readonly durationTicks: number;
  readonly flags: number;
}

/** The values that the init segment of a track states for its samples. */
export function sampleDefaults(track: Track): SampleDefaults {
  return track.kind === 'audio'
    ? { durationTicks: track.samplesPerPacket, flags: sampleFlags(true) }
    : { durationTicks: 0, flags: sampleFlags(false) };
}
