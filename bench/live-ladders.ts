/**
 * How many live ladders do two cores carry without giving up a rendition or a frame?
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamObject } from '../test/support/api-client.ts';
import { cpuTimes } from '../test/support/cpu-times.ts';
import { waitFor } from '../test/support/wait-for.ts';
import {
  type Ladder,
  type LiveLadders,
  sourceClip,
  startLadders,
  transcoderPids,
  transcoderWarnings,
} from './support/ladder.ts';
import { coresOf, explainLadder, machineLadder, showCores } from './support/machine-ladder.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';

const LADDERS = 6;
const SECONDS = { asked: 600, usual: 60 };
/** All that start at once may take a moment to get going. */
const STARTS_WITHIN_MS = 120_000;
const STEADY_LAG_MS = 500;
const LOOK_EVERY_MS = 500;
/**
 * The host of a virtual machine that takes away so much CPU within so many looks, in core milliseconds, leaves fewer cores than are asked
 * about: from then until all are steady again, time and warnings do not count.
 */
const DISTURBED = { fromStolenMs: 500, looks: 4 };
/** Times the seconds asked for; then it is given up. */
const LONGEST = 2;

type Health = StreamObject['health'];

/** What was seen while they ran. */
interface Watched {
  /** Seconds that count. */
  readonly ranS: number;
  /** What ended it: the first rendition given up in them. */
  readonly warning: string | undefined;
  /** In them. */
  readonly worstLagMs: number;
  /** What does not count. */
  readonly disturbed: { readonly seconds: number; readonly times: number; readonly warnings: number };
}

interface Run extends Watched {
  /** Cores, as is what the host took away. */
  readonly used: { readonly server: number; readonly workers: number; readonly publishers: number };
  readonly stolen: number;
  /** No transcoder was started anew. */
  readonly isWhole: boolean;
}

/** Answers it. */
export async function liveLadders({ long }: BenchOptions): Promise<readonly Answer[]> {
  const seconds = long ? SECONDS.asked : SECONDS.usual;
  const found = await machineLadder(LADDERS, 'pictures');
  const { ranS, warning, worstLagMs, disturbed, used, stolen, isWhole } = await run(found.ladder, seconds);
  const reached = warning === undefined && ranS >= seconds && isWhole;
  // A machine that shares its cores with others may have become slower since the ladder was chosen.
  const after = reached ? '' : `; right after, \`ffmpeg\` takes ${showCores(await coresOf(found.ladder, LADDERS))}`;
  return [
    {
      question: `live ladders (${found.ladder.name}) on ${cpus().length} cores for ${seconds} s${long ? '' : ` (${SECONDS.asked} s with --long)`}`,
      measured: `${LADDERS}, ${warning ?? '0 warnings'} in ${show(ranS)} s, worst lag ${show(worstLagMs)} ms`,
      against: `cores used: server ${show(used.server)}, workers ${show(used.workers)}, publishers ${show(used.publishers)}; taken away by the host ${show(stolen)}${explainDisturbed(disturbed)}${explainLadder(found)}${after}`,
      ratio: undefined,
      mustReach: `>= ${LADDERS} without shedding`,
      reached,
    },
  ];
}

async function run(ladder: Ladder, seconds: number): Promise<Run> {
  await using ladders = await startLadders(LADDERS, ladder, await sourceClip(ladder));
  const { server, load } = ladders;
  const workers = transcoderPids(server, LADDERS);
  const areSteady = async () => (await look(ladders)).every(isSteady);
  await waitFor(areSteady, { what: 'all of them to run', timeoutMs: STARTS_WITHIN_MS });
  const groups = [[server.pid], workers, [load.pid]];
  const spent = () => [
    ...groups.map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)),
    cpuTimes().stolenMs,
    performance.now(),
  ];
  const before = spent();
  const watched = await watch(ladders, seconds);
  const [ownMs, workerMs, publisherMs, stolenMs, tookMs] = spent().map((now, index) => now - before[index]!);
  return {
    ...watched,
    used: { server: ownMs! / tookMs!, workers: workerMs! / tookMs!, publishers: publisherMs! / tookMs! },
    stolen: stolenMs! / tookMs!,
    isWhole: transcoderPids(server, LADDERS).every((pid) => workers.includes(pid)),
  };
}

/** Until so many seconds count, or the first rendition is given up in them. */
async function watch(ladders: LiveLadders, seconds: number): Promise<Watched> {
  const disturbed = { seconds: 0, times: 0, warnings: 0 };
  let isDisturbed = false;
  let ranS = 0;
  let worstLagMs = 0;
  let warning: string | undefined;
  let warningsBefore = transcoderWarnings(ladders.server).length;
  /** Not known yet to count: a core that was taken away tells so when it is back. */
  let doubtful: readonly string[] = [];
  let doubtfulLooks = 0;
  const stolenMs = [cpuTimes().stolenMs];
  while (warning === undefined && ranS < seconds && ranS + disturbed.seconds < LONGEST * seconds) {
    const startedAt = performance.now();
    const healths = await look(ladders);
    const tookS = (performance.now() - startedAt) / 1000;
    stolenMs.push(cpuTimes().stolenMs);
    const isStolen = stolenMs.at(-1)! - stolenMs.slice(-1 - DISTURBED.looks)[0]! >= DISTURBED.fromStolenMs;
    if (isStolen && !isDisturbed) disturbed.times += 1;
    isDisturbed = isStolen || (isDisturbed && !healths.every(isSteady));
    const warnings = transcoderWarnings(ladders.server);
    doubtful = [...doubtful, ...warnings.slice(warningsBefore)];
    warningsBefore = warnings.length;
    if (isDisturbed) {
      disturbed.seconds += tookS;
      disturbed.warnings += doubtful.length;
      doubtful = [];
      doubtfulLooks = 0;
    } else if (doubtful.length > 0) {
      doubtfulLooks += 1;
      if (doubtfulLooks >= DISTURBED.looks) [warning] = doubtful;
    } else {
      ranS += tookS;
      worstLagMs = Math.max(worstLagMs, ...healths.map(lagOf));
    }
  }
  return { ranS, warning, worstLagMs, disturbed };
}

/** After a while: an answer costs CPU, too. */
async function look({ server, streams }: LiveLadders): Promise<readonly Health[]> {
  await sleep(LOOK_EVERY_MS);
  const seen = await Promise.all(streams.map(({ id }) => server.api.getStream(id)));
  return seen.map(({ health }) => health);
}

/** For tables: what did not count. */
function explainDisturbed({ seconds, times, warnings }: Watched['disturbed']): string {
  if (times === 0) return '';
  const withinS = (DISTURBED.looks * LOOK_EVERY_MS) / 1000;
  return `, ${times} times ${DISTURBED.fromStolenMs} core ms within ${withinS} s or more: ${show(seconds)} s around them do not count (${warnings} warnings)`;
}

function lagOf(health: Health): number {
  return health?.transcoder?.lag ?? Number.POSITIVE_INFINITY;
}

function isSteady(health: Health): boolean {
  return lagOf(health) < STEADY_LAG_MS && (health?.renditions.every(({ state }) => state === 'running') ?? false);
}
