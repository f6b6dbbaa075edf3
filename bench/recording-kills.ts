/**
 * The server is killed again and again while it records: what is missing of the recording?
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordedViolations } from '../test/support/event-playlist-rules.ts';
import { type MediaPlaylist, readMediaPlaylist } from '../test/support/hls-playlist.ts';
import { readMovie, readTrack } from '../test/support/iso-bmff.ts';
import { liveEdge, runEnds } from '../test/support/recorded-ends.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { encodeClip } from './support/clip.ts';
import { publishTo } from './support/load.ts';
import { type Answer, type BenchOptions, firstOf, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const KILLS = { asked: 100, usual: 10 };
const LIMIT_S = 0.4;
const TARGET_DURATION_S = 2;
/**
 * Options with which ffmpeg keeps the times of frames. By default it rounds them to the frame rate that it finds at the beginning, and
 * complains when two frames then have the same time.
 */
const TO_NOTHING = ['-vsync', 'passthrough', '-enc_time_base', '-1', '-f', 'null', '-'];
/** The shortest time before a kill. At least one segment is complete by then. */
const RUN_MS = 3000;
/** A random time of up to this is added, so that kills come at all moments of a segment. */
const SPREAD_MS = 2000;
const SETTINGS = { ...MEASURED, MILLRACE_RECONNECT_WINDOW_S: '120', MILLRACE_RECORDING_VOLUME_S: '10' };
const PROFILES = [
  { name: '360p', width: 640, height: 360, fps: 0, bitrate: 600_000 },
  { name: '240p', width: 426, height: 240, fps: 0, bitrate: 300_000 },
];
const CLIP = { width: 1280, height: 720, fps: 30, gopS: 2, bFrames: 2, bitrateBps: 3_000_000 };

/** Answers the question above. */
export async function recordingKills({ long }: BenchOptions): Promise<readonly Answer[]> {
  const kills = long ? KILLS.asked : KILLS.usual;
  const clip = await encodeClip(CLIP);
  await using folder = await temporaryFolder();
  const dataDir = folder.path;
  let server = await startServerProcess({ settings: SETTINGS, dataDir });
  try {
    const { apiKey } = server;
    const stream = await server.api.createStream({ record: true, profiles: PROFILES });
    const edges: number[] = [];
    for (let kill = 0; kill <= kills; kill += 1) {
      await using _load = await publishTo(server.rtmpPort, [stream], clip);
      await sleep(RUN_MS + Math.random() * SPREAD_MS);
      edges.push(await liveEdge(server, stream.playbackId));
      if (kill === kills) break;
      await server.kill();
      server = await startServerProcess({ settings: SETTINGS, dataDir, apiKey });
    }
    // What the encoder sent after the last kill is part of the recording, too. The session ends, so that players need not wait for more.
    await server.api.request('DELETE', `/stream/${stream.id}/terminate`);
    const url = await waitFor(() => readyUrl(server, stream.id), { what: 'the recording to be ready' });
    const renditions = ['source', ...PROFILES.map(({ name }) => name), 'audio'];
    const playlists = await Promise.all(renditions.map((id) => playlistOf(new URL(`${id}.m3u8`, url))));
    const history = new Map(
      renditions.map((id, index) => [id, [{ text: playlists[index]!, delta: playlists[index]! }]]),
    );
    const faults = [...recordedViolations(history, TARGET_DURATION_S)];
    for (const [index, id] of renditions.entries()) {
      const found = await mediaFaults(new URL(`${id}.m3u8`, url), readMediaPlaylist(playlists[index]!));
      faults.push(...found.map((fault) => `${id}: ${fault}`));
    }
    const ends = runEnds(readMediaPlaylist(playlists[0]!));
    if (ends.length !== kills + 1) faults.push(`${ends.length} runs after ${kills} kills`);
    const worst = Math.max(0, ...edges.slice(0, kills).map((edge, index) => (edge - (ends[index] ?? 0)) / 1000));
    return [
      {
        question: `media lost by kill -9 while recording in ${renditions.length} renditions, ${kills} times${long ? '' : ` (${KILLS.asked} with --long)`}, the worst`,
        measured: `${show(worst)} s, ${faults.length} faults`,
        against: `limit ${LIMIT_S} s`,
        ratio: worst / LIMIT_S,
        mustReach: `<= ${LIMIT_S} s, nothing twice, ffmpeg -xerror and mp4box find no fault`,
        reached: worst <= LIMIT_S && faults.length === 0,
        ...firstOf(faults),
      },
    ];
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

async function readyUrl(server: ServerProcess, streamId: string): Promise<string | undefined> {
  const answer = await server.api.request('GET', `/stream/${streamId}/sessions`);
  const [session] = (await answer.json()) as { recordingStatus?: string; recordingUrl?: string }[];
  return session?.recordingStatus === 'ready' ? session.recordingUrl : undefined;
}

const playlistOf = async (url: URL): Promise<string> => await (await fetch(url)).text();

const bytesOf = async (url: URL): Promise<Buffer> => Buffer.from(await (await fetch(url)).arrayBuffer());

/** What mp4box and ffmpeg find wrong with a rendition, and whether any media comes twice. */
async function mediaFaults(url: URL, { segments }: MediaPlaylist): Promise<string[]> {
  const faults: string[] = [];
  const inits = new Map<string, Buffer>();
  let endsAt = -1;
  for (const { uri, map, gap, msn } of segments) {
    if (gap) continue;
    const init = inits.get(map!) ?? (await bytesOf(new URL(map!, url)));
    inits.set(map!, init);
    try {
      const { samples } = readTrack(init, await bytesOf(new URL(uri!, url)));
      if (samples[0]!.dts < endsAt) faults.push(`segment ${msn} begins at ${samples[0]!.dts}, before ${endsAt}`);
      endsAt = samples.at(-1)!.dts + samples.at(-1)!.duration;
    } catch (error) {
      faults.push(`segment ${msn}: ${String(error)}`);
    }
  }
  const movie = new URL(url.href.replace(/audio\.m3u8$/, 'audio.m4a').replace(/\.m3u8$/, '.mp4'));
  try {
    readMovie(await bytesOf(movie));
  } catch (error) {
    faults.push(String(error));
  }
  for (const { href } of [url, movie]) {
    const played = spawnSync('ffmpeg', ['-v', 'error', '-xerror', '-i', href, ...TO_NOTHING]);
    if (played.status !== 0 || played.stderr.length > 0)
      faults.push(`ffmpeg ${played.status}: ${String(played.stderr)}`);
  }
  return faults;
}
