/**
 * How many live ladders do two cores carry without giving up a rendition or a frame?
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamObject } from '../test/support/api-client.ts';
import { cpuTimes } from '../test/support/cpu-times.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { type Ladder, sourceClip, startLadders, transcoderPids, transcoderWarnings } from './support/ladder.ts';
import { coresOf, explainLadder, machineLadder } from './support/machine-ladder.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';

const LADDERS = 6;
const SECONDS = { asked: 600, usual: 60 };
/** All that start at once may take a moment to get going. */
const STARTS_WITHIN_MS = 120_000;
const STEADY_LAG_MS = 500;
const LOOK_EVERY_MS = 500;

type Health = StreamObject['health'];

interface Run {
  readonly ranS: number;
  /** What ended it: the first rendition given up. */
  readonly warning: string | undefined;
  readonly worstLagMs: number;
  /** Cores, as is what the host took away. */
  readonly used: { readonly server: number; readonly workers: number; readonly publishers: number };
  readonly stolen: number;
  /** No transcoder was started anew. */
  readonly isWhole: boolean;
}

/** Answers it. */
export async function liveLadders({ long }: BenchOptions): Promise<readonly Answer[]> {
  const seconds = long ? SECONDS.asked : SECONDS.usual;
  const found = await machineLadder(LADDERS);
  const { ranS, warning, worstLagMs, used, stolen, isWhole } = await run(found.ladder, seconds);
  const reached = warning === undefined && isWhole;
  // A machine that shares its cores with others may have become slower since the ladder was chosen.
  const after = reached ? '' : `; right after, \`ffmpeg\` takes ${show(await coresOf(found.ladder, LADDERS))}`;
  return [
    {
      question: `live ladders (${found.ladder.name}) on ${cpus().length} cores for ${seconds} s${long ? '' : ` (${SECONDS.asked} s with --long)`}`,
      measured: `${LADDERS}, ${warning === undefined ? '0 warnings' : `${warning} after ${show(ranS)} s`}, worst lag ${show(worstLagMs)} ms`,
      against: `cores used: server ${show(used.server)}, workers ${show(used.workers)}, publishers ${show(used.publishers)}; taken away by the host ${show(stolen)}${explainLadder(found)}${after}`,
      ratio: undefined,
      mustReach: `>= ${LADDERS} without shedding`,
      reached,
    },
  ];
}

async function run(ladder: Ladder, seconds: number): Promise<Run> {
  await using ladders = await startLadders(LADDERS, ladder, await sourceClip(ladder));
  const { server, streams, load } = ladders;
  const workers = transcoderPids(server, LADDERS);
  const healths = async () => {
    const seen = await Promise.all(streams.map(({ id }) => server.api.getStream(id)));
    return seen.map(({ health }) => health);
  };
  const areSteady = async () => {
    await sleep(LOOK_EVERY_MS); // an answer costs CPU, too
    return (await healths()).every(isSteady);
  };
  await waitFor(areSteady, { what: 'all of them to run', timeoutMs: STARTS_WITHIN_MS });
  const groups = [[server.pid], workers, [load.pid]];
  const cpu = () => groups.map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0));
  const before = [...cpu(), cpuTimes().stolenMs];
  const startWarnings = transcoderWarnings(server).length;
  const lags: number[] = [];
  const startedAt = performance.now();
  const elapsedS = () => (performance.now() - startedAt) / 1000;
  // The first rendition given up is the answer.
  while (elapsedS() < seconds && transcoderWarnings(server).length === startWarnings) {
    await sleep(LOOK_EVERY_MS);
    lags.push(...(await healths()).map(lagOf));
  }
  const ranS = elapsedS();
  const [ownCores, workerCores, publisherCores, stolenCores] = [...cpu(), cpuTimes().stolenMs].map(
    (spent, index) => (spent - before[index]!) / 1000 / ranS,
  );
  return {
    ranS,
    warning: transcoderWarnings(server)[startWarnings],
    worstLagMs: Math.max(...lags),
    used: { server: ownCores!, workers: workerCores!, publishers: publisherCores! },
    stolen: stolenCores!,
    isWhole: transcoderPids(server, LADDERS).every((pid) => workers.includes(pid)),
  };
}

function lagOf(health: Health): number {
  return health?.transcoder?.lag ?? Number.POSITIVE_INFINITY;
}

function isSteady(health: Health): boolean {
  return lagOf(health) < STEADY_LAG_MS && (health?.renditions.every(({ state }) => state === 'running') ?? false);
}
