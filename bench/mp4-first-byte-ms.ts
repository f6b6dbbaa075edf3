/**
 * How long does a viewer wait for the first byte of an MP4 of four hours that exists nowhere, and what does making it take?
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mp4Answer, Mp4Request } from './peers/virtual-mp4.ts';
import { writeLongRecording } from './support/long-recording.ts';
import { type PeerProcess, startPeer } from './support/peer-process.ts';
import { type Answer, atMost } from './support/question.ts';
import { median } from './support/statistics.ts';

const HOURS = 4;
const ROUNDS = 5;
const READERS = 8;
const MINUTES = 6;
const MB = 1_000_000;

/** Answers it. */
export async function mp4FirstByteMs(): Promise<readonly Answer[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-bench-'));
  writeLongRecording(join(folder.path, 'long'), HOURS);
  writeLongRecording(join(folder.path, 'short'), 1 / 60);
  const rounds: Awaited<ReturnType<typeof measure>>[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(folder.path));
  const middle = (key: keyof (typeof rounds)[number]) => median(rounds.map((each) => each[key]));
  const isSame = await readTogether(folder.path);
  return [
    atMost(`first byte of an MP4 of ${HOURS} h, nothing of the recording open`, middle('closedMs'), 300, 'ms'),
    atMost(`first byte of an MP4 of ${HOURS} h, its playlist in use`, middle('coldMs'), 300, 'ms'),
    atMost('CPU time for it, in the reader thread', middle('coldCpuMs'), 300, 'ms'),
    atMost('its first byte for the next viewer', middle('warmMs'), 20, 'ms'),
    atMost('its last MiB', middle('lastMs'), 100, 'ms'),
    atMost('memory of the server for it', middle('memoryMb'), 50, 'MB'),
    {
      question: `${READERS} that read all of ${MINUTES} minutes at once, in ranges of different lengths`,
      measured: isSame ? 'one SHA-256' : 'different bytes',
      against: '-',
      ratio: undefined,
      mustReach: 'one SHA-256',
      reached: isSame,
    },
  ];
}

async function measure(folder: string) {
  await using opening = await startPeer('virtual-mp4.ts', { folder });
  await using opened = await startPeer('virtual-mp4.ts', { folder });
  // The thread is already running, as in a server that is in use.
  const before = await ask(opening, { path: 'short', read: 'first' });
  const closed = await ask(opening, { path: 'long', read: 'first' });
  const warm = await ask(opening, { path: 'long', read: 'first' });
  const last = await ask(opening, { path: 'long', read: 'last' });
  await ask(opened, { path: 'short', read: 'first' });
  await ask(opened, { path: 'long', read: 'open' });
  const cold = await ask(opened, { path: 'long', read: 'first' });
  return {
    closedMs: closed.tookMs,
    coldMs: cold.tookMs,
    coldCpuMs: cold.cpuMs,
    warmMs: warm.tookMs,
    lastMs: last.tookMs,
    memoryMb: (last.residentBytes - before.residentBytes) / MB,
  };
}

/** Whether all that read it at once get the same bytes. */
async function readTogether(folder: string): Promise<boolean> {
  writeLongRecording(join(folder, 'minutes'), MINUTES / 60);
  await using peer = await startPeer('virtual-mp4.ts', { folder });
  const rangeBytes = Array.from({ length: READERS }, (_, reader) => 300_007 * (reader + 1));
  const { sha256 } = await ask(peer, { path: 'minutes', read: 'together', rangeBytes });
  return sha256.length === READERS && new Set(sha256).size === 1;
}

const ask = async (peer: PeerProcess, request: Mp4Request): Promise<Mp4Answer> =>
  (await peer.ask({ ...request })) as Mp4Answer;
