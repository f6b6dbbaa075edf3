/**
 * Reads from playlists when media ends, in wall-clock time, for tests of recordings of interrupted sessions.
 */
import { type MediaPlaylist, readMediaPlaylist } from './hls-playlist.ts';
import type { TestServer } from './server.ts';

/** The end of what live viewers can get now of the source, in milliseconds since the epoch. */
export async function liveEdge(server: TestServer, playbackId: string): Promise<number> {
  const index = server.playlistUrl(playbackId);
  const name = /^.*source\.m3u8$/m.exec(await textOf(index))?.[0] ?? '';
  return liveEnd(readMediaPlaylist(await textOf(new URL(name, index))));
}

async function textOf(url: string | URL): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${String(url)} gave ${answer.status}`);
  return await answer.text();
}

/** When the media of a live playlist ends. */
function liveEnd({ segments }: MediaPlaylist): number {
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
