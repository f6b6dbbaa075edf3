/**
 * How much memory does the server take: idle, for a stream, and is any lost when publishers come and go?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { RtmpClient } from '../test/support/rtmp-client.ts';
import { startServerProcess } from '../test/support/server.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type PeerProcess, startPeer } from './support/peer-process.ts';
import { residentBytes } from './support/process-usage.ts';
import { type Answer, atMost, show } from './support/question.ts';
import { sendPaced } from './support/sender.ts';
import { slope } from './support/statistics.ts';

const MB = 1e6;

/** Answers all three. */
export async function memoryMb(): Promise<readonly Answer[]> {
  return [...(await idleAndPerStream()), await heapSlope()];
}

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
/** So many that what the first stream wakes in the process (compiled code, a larger heap) does not count as a stream's. */
const STREAMS = 40;
/** The default playlist window, until one more segment is complete; what left it stays for as long again and its own length. */
const WINDOW_S = 36 + SHAPE.gopS;
const KEPT_S = WINDOW_S + (WINDOW_S + SHAPE.gopS);

async function idleAndPerStream(): Promise<readonly Answer[]> {
  await compileOnce();
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => server.api.createStream()));
  const idle = residentBytes(server.pid);
  const streamKeys = streams.map(({ streamKey }) => streamKey);
  await using _load = await startPeer('senders.ts', { port: server.rtmpPort, streamKeys, shape: SHAPE, bare: false });
  // Until as much leaves as comes.
  await sleep((KEPT_S + 20) * 1000);
  const perStream = (residentBytes(server.pid) - idle) / STREAMS;
  const limit = 1.15 * (SHAPE.bitrateBps / 8) * KEPT_S + 2 * MB;
  return [
    atMost('resident memory, idle', idle / MB, 140, 'MB'),
    atMost(`resident memory per 3 Mbit/s stream, ${KEPT_S} s kept`, perStream / MB, limit / MB, 'MB'),
  ];
}

/** The first start after an install strips types and compiles, which takes some 50 MB more; later ones find it done. */
async function compileOnce(): Promise<void> {
  await using server = await startServerProcess();
  await server.stop();
}

/** Short playlists, so that what a stream leaves behind is gone soon. */
const BRIEF = {
  MILLRACE_SEGMENT_TARGET_DURATION_S: '2',
  MILLRACE_PLAYLIST_WINDOW_S: '12',
  MILLRACE_LOG_LEVEL: 'error',
};
const SMALL = { fps: 30, gopS: 1, bitrateBps: 300_000 };
const ROUNDS = 5;
const CYCLES_PER_ROUND = 400;
const PUBLISHERS = 20;
/** Long enough for a session to go live. */
const PUBLISH_MS = 700;
/** The heap of a process at rest differs by as much from one collection to the next. */
const NOISE_BYTES = 250_000;

async function heapSlope(): Promise<Answer> {
  await using server = await startPeer('measured-server.ts', BRIEF);
  const streamKeys: string[] = [];
  for (let index = 0; index < PUBLISHERS; index += 1) streamKeys.push((await server.ask('create')) as string);
  const points: { x: number; y: number }[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    await Promise.all(streamKeys.map((streamKey) => publishAgainAndAgain(server.answer, streamKey)));
    points.push({ x: round * CYCLES_PER_ROUND, y: await heapAtRest(server) });
  }
  // The first round compiles the code.
  const bytesPerCycle = slope(points.slice(1));
  const growth = bytesPerCycle * CYCLES_PER_ROUND * (ROUNDS - 2);
  return {
    question: `heap after GC over ${ROUNDS * CYCLES_PER_ROUND} publish/stop cycles`,
    measured: `${show(bytesPerCycle)} bytes a cycle`,
    against: `${points.map(({ y }) => show(y / MB)).join(', ')} MB`,
    ratio: undefined,
    mustReach: `no slope (<= ${NOISE_BYTES / 1000} kB in all)`,
    reached: growth <= NOISE_BYTES,
  };
}

async function publishAgainAndAgain(port: number, streamKey: string): Promise<void> {
  for (let cycle = 0; cycle < CYCLES_PER_ROUND / PUBLISHERS; cycle += 1) {
    await using client = await RtmpClient.publish(port, streamKey);
    await sendPaced(client, streamKey, SMALL, { signal: AbortSignal.timeout(PUBLISH_MS) });
  }
}

async function heapAtRest(server: PeerProcess): Promise<number> {
  const isEmpty = async () => (await server.ask('media')) === 0;
  await waitFor(isEmpty, { what: 'ended sessions to be given up', timeoutMs: 60_000 });
  return (await server.ask('heap')) as number;
}
