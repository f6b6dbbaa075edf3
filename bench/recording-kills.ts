/**
 * The server is killed again and again while it records: what is missing of the recording?
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { liveEnd, runEnds } from '../test/support/recorded-ends.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { encodeClip } from './support/clip.ts';
import { startPeer } from './support/peer-process.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const KILLS = { asked: 100, usual: 10 };
const LIMIT_S = 0.4;
/** At least a segment is whole before each kill. */
const RUN_MS = 3000;
/** A kill comes at any moment of a segment. */
const SPREAD_MS = 2000;
const SETTINGS = { ...MEASURED, MILLRACE_RECONNECT_WINDOW_S: '120', MILLRACE_RECORDING_VOLUME_S: '10' };
const CLIP = { width: 1280, height: 720, fps: 30, gopS: 2, bFrames: 2, bitrateBps: 3_000_000 };

/** Answers it. */
export async function recordingKills({ long }: BenchOptions): Promise<readonly Answer[]> {
  const kills = long ? KILLS.asked : KILLS.usual;
  const clip = await encodeClip(CLIP);
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  let server = await startServerProcess({ settings: SETTINGS, dataDir });
  try {
    const { apiKey } = server;
    const stream = await server.api.createStream({ record: true });
    const edges: number[] = [];
    for (let kill = 0; kill <= kills; kill += 1) {
      await using _load = await startPeer('replayers.ts', {
        port: server.rtmpPort,
        streamKeys: [stream.streamKey],
        clip,
        apartMs: 0,
      });
      await sleep(RUN_MS + Math.random() * SPREAD_MS);
      edges.push(await liveEdge(server, stream.playbackId));
      if (kill === kills) break;
      await server.kill();
      server = await startServerProcess({ settings: SETTINGS, dataDir, apiKey });
    }
    const [path = ''] = readdirSync(join(dataDir, 'recordings'));
    const url = `${server.url}/recordings/${path}/source.m3u8`;
    const text = await waitFor(() => playlistWith(url, kills), { what: 'the last run to be recorded' });
    const playlist = readMediaPlaylist(text);
    const { segments } = playlist;
    const ends = runEnds(playlist);
    const lost = edges.slice(0, kills).map((edge, index) => (edge - (ends[index] ?? 0)) / 1000);
    const isContiguous = segments.every(({ msn }, index) => msn === index) && ends.length === kills + 1;
    const worst = Math.max(...lost);
    const played = spawnSync('ffmpeg', ['-v', 'error', '-xerror', '-i', url, '-t', '60', '-f', 'null', '-']);
    const isPlayable = played.status === 0 && String(played.stderr) === '';
    return [
      {
        question: `media lost by kill -9 while recording, ${kills} times${long ? '' : ` (${KILLS.asked} with --long)`}, the worst`,
        measured: `${show(Math.max(0, worst))} s${isContiguous ? '' : ', numbers are missing'}${isPlayable ? '' : ', ffmpeg complains'}`,
        against: `limit ${LIMIT_S} s, a part`,
        ratio: Math.max(0, worst) / LIMIT_S,
        mustReach: `<= ${LIMIT_S} s, ffmpeg -xerror plays it`,
        reached: worst <= LIMIT_S && isContiguous && isPlayable,
        details: String(played.stderr).slice(0, 1000),
      },
    ];
  } finally {
    await server[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true });
  }
}

/** The wall-clock time of the end of what live viewers can get now. */
async function liveEdge(server: ServerProcess, playbackId: string): Promise<number> {
  const index = server.playlistUrl(playbackId);
  const name = /^.*source\.m3u8$/m.exec(await (await fetch(index)).text())?.[0] ?? '';
  return liveEnd(readMediaPlaylist(await (await fetch(new URL(name, index))).text()));
}

/** The playlist of a recording once it has so many discontinuities. */
async function playlistWith(url: string, discontinuities: number): Promise<string | undefined> {
  const text = await (await fetch(url)).text();
  return readMediaPlaylist(text).segments.filter(({ discontinuity }) => discontinuity).length >= discontinuities
    ? text
    : undefined;
}
