/**
 * Reads from playlists when media ends, in wall-clock time, for tests of recordings of interrupted sessions.
 */
import type { MediaPlaylist } from './hls-playlist.ts';

/** The end of what live viewers can get now, in milliseconds since the epoch. */
export function liveEnd({ segments }: MediaPlaylist): number {
  const last = segments.at(-1)!;
  const partsS = last.parts.reduce((sum, { durationS }) => sum + durationS, 0);
  return Date.parse(last.programDateTime!) + Math.max(last.durationS, partsS) * 1000;
}

/** Where each run of media ends, in milliseconds since the epoch. */
export function runEnds({ segments }: MediaPlaylist): readonly number[] {
  const ends: number[] = [];
  let atMs = 0;
  for (const { discontinuity, programDateTime, durationS } of segments) {
    if (discontinuity) ends.push(atMs);
    if (programDateTime !== undefined) atMs = Date.parse(programDateTime);
    atMs += durationS * 1000;
  }
  return [...ends, atMs];
}
