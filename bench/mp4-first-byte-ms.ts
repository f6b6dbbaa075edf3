/**
 * How long does a viewer wait for the first byte of an MP4 of four hours that exists nowhere, and what does making it take?
 */
import { createHash } from 'node:crypto';
import { type ServerProcess, startServerProcess } from '../test/support/server.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { LeanConnection } from './support/lean-http.ts';
import { prepareRecordings, RECORDED_AT_MS } from './support/long-recording.ts';
import { cpuMsDuring, residentBytes } from './support/process-usage.ts';
import { type Answer, atMost } from './support/question.ts';
import { MEASURED } from './support/settings.ts';
import { median, timed } from './support/statistics.ts';

const HOURS = 4;
const ROUNDS = 5;
const READERS = 8;
const MINUTES = 6;
const MB = 1_000_000;

/** The path of the MP4 of a recording from its beginning on. A URL with an end is what a running recording redirects to. */
const mp4Of = (path: string | undefined, hours: number): string =>
  `/recordings/${path}/source.mp4?to=${RECORDED_AT_MS + hours * 3_600_000}`;

/** Answers the question above. */
export async function mp4FirstByteMs(): Promise<readonly Answer[]> {
  await using folder = await temporaryFolder();
  const [short, minutes, long] = await prepareRecordings(folder.path, [1 / 60, MINUTES / 60, HOURS]);
  /** Starts a server that has made an MP4 already, as one that is in use. */
  const start = async () => {
    const server = await startServerProcess({ settings: MEASURED, dataDir: folder.path });
    await first(server, mp4Of(short, 1 / 60));
    return server;
  };
  const rounds: Awaited<ReturnType<typeof measure>>[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(start, long));
  const middle = (key: keyof (typeof rounds)[number]) => median(rounds.map((each) => each[key]));
  await using server = await start();
  const path = mp4Of(minutes, MINUTES / 60);
  const hashes = await Promise.all(
    Array.from({ length: READERS }, (_, reader) => hashOf(server, path, 300_007 * (reader + 1))),
  );
  return [
    atMost(`first byte of an MP4 of ${HOURS} h, nothing of the recording open`, middle('closedMs'), 300, 'ms'),
    atMost(`first byte of an MP4 of ${HOURS} h, its playlist in use`, middle('coldMs'), 300, 'ms'),
    atMost('CPU time of the server for it', middle('coldCpuMs'), 300, 'ms'),
    atMost('its first byte for the next viewer', middle('warmMs'), 20, 'ms'),
    atMost('its last MiB', middle('lastMs'), 100, 'ms'),
    atMost('memory of the server for it', middle('memoryMb'), 50, 'MB'),
    atMost(
      `SHA-256 of ${READERS} that read all of ${MINUTES} minutes at once, in ranges of different lengths`,
      new Set(hashes).size,
      1,
      'value',
    ),
  ];
}

async function measure(start: () => Promise<ServerProcess>, path: string | undefined) {
  const mp4 = mp4Of(path, HOURS);
  return { ...(await opening(start, mp4)), ...(await opened(start, mp4, `/recordings/${path}/source.m3u8`)) };
}

async function opening(start: () => Promise<ServerProcess>, mp4: string) {
  await using server = await start();
  const before = residentBytes(server.pid);
  const closedMs = await timed(() => first(server, mp4));
  const warmMs = await timed(() => first(server, mp4));
  const lastMs = await timed(() => get(server, mp4, 'bytes=-1048576'));
  return { closedMs, warmMs, lastMs, memoryMb: (residentBytes(server.pid) - before) / MB };
}

async function opened(start: () => Promise<ServerProcess>, mp4: string, playlist: string) {
  await using server = await start();
  await get(server, playlist);
  let coldMs = 0;
  const coldCpuMs = await cpuMsDuring(server.pid, async () => {
    coldMs = await timed(() => first(server, mp4));
  });
  return { coldMs, coldCpuMs };
}

const first = (server: ServerProcess, path: string) => get(server, path, 'bytes=0-1');

async function get({ httpPort }: ServerProcess, path: string, range?: string) {
  using connection = await LeanConnection.open(httpPort);
  const answer = await connection.get(path, range === undefined ? {} : { range });
  if (answer.status !== (range === undefined ? 200 : 206)) throw new Error(`${path}: ${answer.status}`);
  return answer;
}

/** Reads a file range by range. */
async function hashOf(server: ServerProcess, path: string, rangeBytes: number): Promise<string> {
  const hash = createHash('sha256');
  const sizeBytes = Number((await first(server, path)).header('content-range')?.split('/')[1]);
  for (let at = 0; at < sizeBytes; at += rangeBytes) {
    hash.update((await get(server, path, `bytes=${at}-${Math.min(at + rangeBytes, sizeBytes) - 1}`)).body);
  }
  return hash.digest('hex');
}
