/**
 * How many live ladders do two cores transcode without pausing a rendition or dropping a frame?
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamObject } from '../test/support/api-client.ts';
import { waitFor } from '../test/support/wait-for.ts';
import {
  LADDER,
  type LiveLadders,
  sourceClip,
  startLadders,
  transcoderPids,
  transcoderWarnings,
} from './support/ladder.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';

const LADDERS = 6;
const SECONDS = { asked: 600, usual: 60 };
/** Ladders that start at the same time need a moment before they keep up. */
const STARTS_WITHIN_MS = 120_000;
const STEADY_LAG_MS = 500;
const LOOK_EVERY_MS = 500;

type Health = StreamObject['health'];

/** Answers the question above. */
export async function liveLadders({ long }: BenchOptions): Promise<readonly Answer[]> {
  const seconds = long ? SECONDS.asked : SECONDS.usual;
  await using ladders = await startLadders(LADDERS, LADDER, await sourceClip(LADDER));
  const { server, load } = ladders;
  const workers = transcoderPids(server, LADDERS);
  const areSteady = async () => (await look(ladders)).every(isSteady);
  await waitFor(areSteady, { what: 'all of them to run', timeoutMs: STARTS_WITHIN_MS });
  const warningsBefore = transcoderWarnings(server).length;
  const spent = () => [[server.pid], workers, [load.pid]].map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0));
  const before = spent();
  const startedAt = performance.now();
  let worstLagMs = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    worstLagMs = Math.max(worstLagMs, ...(await look(ladders)).map(lagOf));
  }
  const elapsedMs = performance.now() - startedAt;
  const [ours, theirs, publishers] = spent().map((ms, index) => show((ms - before[index]!) / elapsedMs));
  const warnings = transcoderWarnings(server).slice(warningsBefore);
  const isWhole = transcoderPids(server, LADDERS).every((pid) => workers.includes(pid));
  return [
    {
      question: `live ladders (${LADDER.name}) on ${cpus().length} cores for ${seconds} s`,
      measured: `${LADDERS}, ${warnings.length} warnings`,
      mustReach: `>= ${LADDERS} without shedding`,
      reached: warnings.length === 0 && isWhole,
      details: `worst lag ${show(worstLagMs)} ms; cores used: server ${ours}, transcoders ${theirs}, publishers ${publishers}`,
    },
  ];
}

/** Waits before it asks again, because an answer costs CPU as well. */
async function look({ server, streams }: LiveLadders): Promise<readonly Health[]> {
  await sleep(LOOK_EVERY_MS);
  const seen = await Promise.all(streams.map(({ id }) => server.api.getStream(id)));
  return seen.map(({ health }) => health);
}

function lagOf(health: Health): number {
  return health?.transcoder?.lag ?? Number.POSITIVE_INFINITY;
}

function isSteady(health: Health): boolean {
  return lagOf(health) < STEADY_LAG_MS && (health?.renditions.every(({ state }) => state === 'running') ?? false);
}
