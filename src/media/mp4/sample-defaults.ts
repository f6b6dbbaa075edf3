/**
 * What init segment and fragments agree on: the init segment states it once (`trex`), fragments repeat it only where it differs.
 */
import type { Track } from '#media/track.ts';

/** Each rendition has files of its own, so each has one track, and that is number 1. */
export const TRACK_ID = 1;

/** Sample flags of ISO/IEC 14496-12 §8.8.3.1: sample_depends_on 2 (nothing). */
const SYNC = 0x02000000;
/** sample_depends_on 1 (others), sample_is_non_sync_sample. */
const NON_SYNC = 0x01010000;

/** The flags of a sample. */
export const sampleFlags = (keyframe: boolean): number => (keyframe ? SYNC : NON_SYNC);

/** What holds for a sample of a track whose fragment says nothing else. A duration of 0 means that every fragment says it. */
export function sampleDefaults(track: Track): { readonly durationTicks: number; readonly flags: number } {
  return track.kind === 'audio'
    ? { durationTicks: track.samplesPerPacket, flags: sampleFlags(true) }
    : { durationTicks: 0, flags: sampleFlags(false) };
}
