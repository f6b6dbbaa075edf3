/**
 * What does it take to serve viewers who have gone back in a running recording of hours, and how long do they wait?
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type MediaPath, newMediaPath, type StreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { encodeRecord, indexName, WHOLE_INDEX } from '#recording/index-file.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someSession } from '../test/support/sample-records.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { LeanConnection } from './support/lean-http.ts';
import { RECORDED_AT_MS, writeLongRecording } from './support/long-recording.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

const SHORT_HOURS = 1 / 6;
const MP4_HOURS = 4;
const LONG_HOURS = 12;
/** The number of measured steps, in each of which a viewer sends the requests for one segment. */
const STEPS = 3000;
const SEGMENT_S = 2;
const KB = 1000;

/** Answers it. */
export async function dvrViewers(): Promise<readonly Answer[]> {
  const short = await measure(SHORT_HOURS);
  const middle = await measure(MP4_HOURS);
  const long = await measure(LONG_HOURS);
  const ratio = long.stepCpuMs / short.stepCpuMs;
  return [
    atMost(`playlist of a recording of ${MP4_HOURS} h`, middle.playlistBytes / KB, 300, 'kB'),
    atMost('the same with gzip', middle.gzipBytes / KB, 40, 'kB'),
    atMost('its delta update', middle.deltaBytes / KB, 2, 'kB'),
    atMost(`first byte of its MP4 over HTTP, the head not computed yet`, middle.mp4ColdMs, 300, 'ms'),
    atMost('first byte of its MP4 over HTTP for the next viewer', middle.mp4WarmMs, 20, 'ms'),
    atMost('its last MiB over HTTP', middle.mp4LastMs, 100, 'ms'),
    {
      question: `CPU time of a viewer's step (two playlists, two segments) at ${LONG_HOURS} h, against 10 min`,
      measured: `${long.stepCpuMs.toFixed(2)} ms`,
      against: `${short.stepCpuMs.toFixed(2)} ms`,
      ratio,
      mustReach: '<= 1.2x',
      reached: ratio <= 1.2,
    },
  ];
}

async function measure(hours: number) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-bench-'));
  const path = await prepare(folder.path, hours);
  await using server = await startServerProcess({ settings: MEASURED, dataDir: folder.path });
  using connection = await LeanConnection.open(server.httpPort);
  const get = async (file: string, headers: Readonly<Record<string, string>> = {}) => {
    const began = performance.now();
    const { status, body } = await connection.get(`/recordings/${path}/${file}`, headers);
    if (status !== 200 && status !== 206) throw new Error(`${file}: ${status} ${body.toString()}`);
    return { body, tookMs: performance.now() - began };
  };
  const gzip = { 'accept-encoding': 'gzip' };
  const full = await get('source.m3u8', gzip);
  const delta = await get('source.m3u8?_HLS_skip=YES');
  // The thread that reads is already running, as in a server that is in use.
  await get(`source.mp4?to=${RECORDED_AT_MS + 10_000}`, { range: 'bytes=0-1' });
  // The URL contains the end, as it does after the redirect of a running recording.
  const mp4 = `source.mp4?to=${RECORDED_AT_MS + hours * 3_600_000}`;
  const first = { range: 'bytes=0-1' };
  const cold = await get(mp4, first);
  const warm = await get(mp4, first);
  const last = await get(mp4, { range: 'bytes=-1048576' });
  return {
    playlistBytes: gunzipSync(full.body).length,
    gzipBytes: full.body.length,
    deltaBytes: delta.body.length,
    mp4ColdMs: cold.tookMs,
    mp4WarmMs: warm.tookMs,
    mp4LastMs: last.tookMs,
    stepCpuMs: await stepCpuMs(server, hours, (file) => get(file, gzip)),
  };
}

/** CPU time of the server for what a player asks for with each segment: both playlists, and a segment of each. */
async function stepCpuMs(
  server: ServerProcess,
  hours: number,
  get: (file: string) => Promise<unknown>,
): Promise<number> {
  const segments = Math.floor((hours * 3600) / SEGMENT_S) - 1;
  const step = async (index: number) => {
    const number = (index * 37) % segments;
    for (const rendition of ['source', 'audio']) {
      await get(`${rendition}.m3u8?_HLS_skip=YES`);
      await get(`${rendition}/${number}.m4s`);
    }
  };
  for (let index = 0; index < STEPS / 10; index += 1) await step(index);
  const before = cpuMs(server.pid);
  for (let index = 0; index < STEPS; index += 1) await step(index);
  return (cpuMs(server.pid) - before) / STEPS;
}

/** Makes a data folder with a running recording, as a killed server leaves it: the session waits for its publisher. */
async function prepare(dataDir: string, hours: number): Promise<MediaPath> {
  const path = newMediaPath();
  {
    await using server = await startServerProcess({ settings: MEASURED, dataDir });
    const { id } = await server.api.createStream({ record: true });
    await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
    const stream = (await store.streams.get(id as StreamId, 'everyone'))!;
    const until = ms(Date.now() + 3_600_000);
    await store.sessions.create(
      someSession(stream, {
        phase: 'reconnecting',
        reconnectUntil: until,
        lastSeen: ms(Date.now()),
        recordingPath: path,
      }),
    );
    await server.stop();
  }
  const folder = join(dataDir, 'recordings', path);
  writeLongRecording(folder, hours);
  const index = readFileSync(join(folder, WHOLE_INDEX));
  const end = encodeRecord({ type: 'end' });
  writeFileSync(
    join(folder, WHOLE_INDEX),
    Buffer.concat([index.subarray(0, -end.length), encodeRecord({ type: 'sync' })]),
  );
  renameSync(join(folder, WHOLE_INDEX), join(folder, indexName(0)));
  return path;
}
