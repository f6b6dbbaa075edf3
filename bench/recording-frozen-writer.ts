/**
 * What do live viewers notice when the disk of recordings hangs, and what is missing of the recordings?
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreatedStream } from '../test/support/api-client.ts';
import { readMediaPlaylist } from '../test/support/hls-playlist.ts';
import type { TestServer } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { createStreams, publishTo } from './support/load.ts';
import { type ObservedServer, startObservedServer } from './support/observed-server.ts';
import { type Answer, atMost, type BenchOptions, InvalidRunError, show } from './support/question.ts';
import { MEASURED } from './support/settings.ts';

/** The number of recorded streams. Together they have 90 Mbit/s, which fill the queue to the writer within seconds. */
const STREAMS = 30;
const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const FROZEN_S = { asked: 30, usual: 15 };
/** How long it may take until the queue is full: a machine that does other things as well publishes more slowly. */
const FULL_WITHIN_MS = 90_000;
const LIMIT_REQUEST_MS = 100;
const LIMIT_WARNING_MS = 1000;
const LIMIT_RETURN_S = 10;
const SETTINGS = { ...MEASURED, MILLRACE_RECORDING_VOLUME_S: '10' };
/** The time in which the first segments are made. */
const SETTLE_MS = 5000;
/** How long media is recorded after the disk has continued: several segments. */
const AFTER_MS = 12_000;

/** Answers the question above. */
export async function recordingFrozenWriter({ long }: BenchOptions): Promise<readonly Answer[]> {
  const frozenS = long ? FROZEN_S.asked : FROZEN_S.usual;
  await using server = await startObservedServer({ settings: SETTINGS });
  const streams = await createStreams(server.api, STREAMS, () => ({ record: true }));
  await using _load = await publishTo(server.rtmpPort, streams, SHAPE);
  const stop = new AbortController();
  const viewer = watch(server.playlistUrl(streams[0]!.playbackId), stop.signal);
  await sleep(SETTLE_MS);
  viewer.takeSlowestMs(); // the first playlist waits for the first part
  const release = await freeze(server);
  const beforeMs = viewer.takeSlowestMs();
  const frozenAtMs = performance.now();
  const gapAtMs = await gapBegins(server);
  const warned = await warnedAfterMs(server, streams, gapAtMs);
  await sleep(Math.max(0, frozenS * 1000 - (performance.now() - frozenAtMs)));
  await release();
  const backAtMs = performance.now();
  const returnedS = (await goesOn(server, streams, backAtMs)) / 1000;
  await sleep(AFTER_MS);
  stop.abort();
  const slowestMs = viewer.takeSlowestMs();
  const { missing } = await viewer.seen;
  const gaps = await gapsOf(server, streams);
  const isUnhurt = slowestMs <= LIMIT_REQUEST_MS && missing === 0;
  return [
    {
      question: `live viewers while the writer of ${STREAMS} recordings hangs for ${frozenS} s`,
      measured: `slowest request ${show(slowestMs)} ms, ${missing} segments missing`,
      against: `slowest request before ${show(beforeMs)} ms`,
      ratio: slowestMs / beforeMs,
      mustReach: `<= ${LIMIT_REQUEST_MS} ms, none`,
      reached: isUnhurt,
    },
    atMost('warning after a recording has a gap', warned, LIMIT_WARNING_MS, 'ms'),
    atMost('recordings go on after the disk does', returnedS, LIMIT_RETURN_S, 's'),
    atMost('gaps of a recording then, at most', Math.max(...gaps), 1, 'gap'),
  ];
}

/**
 * Makes the writer wait: the next file of one more recording is a pipe without a reader.
 * @returns a function that lets the writer continue
 */
async function freeze(server: ObservedServer): Promise<() => Promise<unknown>> {
  const recordings = join(server.dataDir, 'recordings');
  const known = () => (existsSync(recordings) ? readdirSync(recordings) : []);
  await waitFor(() => known().length === STREAMS, { what: 'all recordings to begin' });
  const before = new Set(known());
  const victim = await server.api.createStream({ record: true });
  const load = await publishTo(server.rtmpPort, [victim], { ...SHAPE, bitrateBps: 100_000 });
  const path = await waitFor(() => known().find((name) => !before.has(name)), { what: 'one more recording' });
  const pipe = join(recordings, path, 'index.1');
  if (spawnSync('mkfifo', [pipe]).status !== 0) throw new InvalidRunError('no pipe can be made');
  // Opening a pipe to write waits for its reader.
  await waitFor(async () => (await waitingBytes(server)) > 1_000_000, {
    what: 'the writer to hang',
    timeoutMs: 60_000,
  });
  return async () => {
    const reader = spawn('sh', ['-c', `cat '${pipe}' > /dev/null`]);
    await once(reader, 'spawn');
    await sleep(500);
    await load[Symbol.asyncDispose]();
  };
}

/** The number of bytes that wait for the disk. */
async function waitingBytes(server: TestServer): Promise<number> {
  const metrics = await (await fetch(server.metricsUrl)).text();
  return Number(/^millrace_recording_waiting_bytes (\S+)$/m.exec(metrics)?.[1] ?? 0);
}

/** The wall-clock time at which the first recording leaves out media, in milliseconds. */
async function gapBegins(server: TestServer): Promise<number> {
  const line = () => server.logLines.find((each) => each.includes('recording has a gap'));
  const found = await waitFor(line, { what: 'a queue that is full', timeoutMs: FULL_WITHIN_MS });
  return Date.parse((JSON.parse(found) as { time: string }).time);
}

async function warnedAfterMs(server: TestServer, streams: readonly CreatedStream[], sinceMs: number): Promise<number> {
  const warned = async () => {
    const found = await Promise.all(streams.map(({ id }) => server.api.getStream(id)));
    return found.flatMap(({ health }) => health?.warnings ?? []).find(({ code }) => code === 'recording_behind');
  };
  const warning = await waitFor(warned, { what: 'a warning' });
  return Math.max(0, (warning as { since: number }).since - sinceMs);
}

/** Milliseconds until every recording has more segments than at the time of the call. */
async function goesOn(server: TestServer, streams: readonly CreatedStream[], sinceMs: number): Promise<number> {
  const counts = () => Promise.all(streams.map((stream) => segmentsOf(server, stream)));
  const before = await counts();
  const haveGrown = async () => (await counts()).every((list, index) => list.length > before[index]!.length);
  await waitFor(haveGrown, { what: 'all recordings to go on', timeoutMs: 60_000 });
  return performance.now() - sinceMs;
}

async function gapsOf(server: TestServer, streams: readonly CreatedStream[]): Promise<readonly number[]> {
  const lists = await Promise.all(streams.map((stream) => segmentsOf(server, stream)));
  return lists.map((segments) => segments.filter(({ discontinuity }) => discontinuity).length);
}

async function segmentsOf(server: TestServer, stream: CreatedStream) {
  const answer = await server.api.request('GET', `/stream/${stream.id}/sessions`);
  const [session] = (await answer.json()) as { recordingUrl?: string }[];
  if (session?.recordingUrl === undefined) return [];
  return readMediaPlaylist(await (await fetch(new URL('source.m3u8', session.recordingUrl))).text()).segments;
}

/** A viewer who loads every segment of a live playlist, and notes how long answers take. */
function watch(index: string, signal: AbortSignal) {
  let slowestMs = 0;
  const seen = (async () => {
    const timed = async (url: URL) => {
      const from = performance.now();
      const answer = await fetch(url);
      const body = await answer.text();
      slowestMs = Math.max(slowestMs, performance.now() - from);
      if (!answer.ok) throw new Error(`${answer.status} for ${url.pathname}`);
      return body;
    };
    const name = /^.*source\.m3u8$/m.exec(await timed(new URL(index)))?.[0] ?? '';
    const playlistUrl = new URL(name, index);
    let next: number | undefined;
    let missing = 0;
    while (!signal.aborted) {
      for (const { msn, uri } of readMediaPlaylist(await timed(playlistUrl)).segments) {
        if (uri === undefined || (next !== undefined && msn < next)) continue;
        if (next !== undefined) missing += msn - next;
        next = msn + 1;
        await timed(new URL(uri, playlistUrl));
      }
      await sleep(250);
    }
    return { missing };
  })();
  seen.catch(() => {}); // the error is reported to the code that awaits the promise
  const takeSlowestMs = () => {
    const taken = slowestMs;
    slowestMs = 0;
    return taken;
  };
  return { takeSlowestMs, seen };
}
