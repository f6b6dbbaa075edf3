/**
 * How much CPU does a passed-through stream of 3 Mbit/s cost the server, with 10 and with 100 of them?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server.ts';
import { type PeerProcess, startPeer } from './support/peer-process.ts';
import { cpuMsDuring } from './support/process-usage.ts';
import { type Answer, show } from './support/question.ts';

const SHAPE = { fps: 30, gopS: 2, bitrateBps: 3_000_000 };
const COUNTS = [10, 100];
const LIMIT_PERCENT = 0.4;
/** The time before the measurement, in which the first segments are made. */
const SETTLE_MS = 5000;
const SECONDS = 20;

/** Answers it. */
export async function passthroughCpuPercent(): Promise<readonly Answer[]> {
  const rows: { count: number; ours: number; reader: number }[] = [];
  for (const count of COUNTS)
    rows.push({ count, ours: await serverPercent(count), reader: await readerPercent(count) });
  const first = rows[0]!.ours;
  return rows.map(({ count, ours, reader }) => ({
    question: `server CPU per passed-through 3 Mbit/s stream, ${count} streams`,
    measured: `${show(ours)} % of a core`,
    against: `bare Node socket reader ${show(reader)} %`,
    ratio: ours / reader,
    mustReach: `<= ${LIMIT_PERCENT} %, not growing`,
    // A tenth more than with few streams is the noise of the machine, not growth.
    reached: ours <= LIMIT_PERCENT && ours <= first * 1.1,
  }));
}

/** Returns the CPU of each stream, in percent of a core. */
async function serverPercent(count: number): Promise<number> {
  await using server = await startServerProcess({ settings: { MILLRACE_LOG_LEVEL: 'info' } });
  const streams = await Promise.all(Array.from({ length: count }, () => server.api.createStream()));
  const streamKeys = streams.map(({ streamKey }) => streamKey);
  await using _load = await startSenders(server.rtmpPort, streamKeys, false);
  return await percentOf(server.pid, count);
}

async function readerPercent(count: number): Promise<number> {
  await using reader = await startPeer('bare-reader.ts', {});
  await using _load = await startSenders(reader.answer, Array<string>(count).fill('none'), true);
  return await percentOf(reader.pid, count);
}

function startSenders(port: number, streamKeys: readonly string[], bare: boolean): Promise<PeerProcess> {
  return startPeer('senders.ts', { port, streamKeys, shape: SHAPE, bare });
}

async function percentOf(pid: number, count: number): Promise<number> {
  await sleep(SETTLE_MS);
  const spentMs = await cpuMsDuring(pid, () => sleep(SECONDS * 1000));
  return (spentMs / (SECONDS * 1000) / count) * 100;
}
