/**
 * How many live ladders do two cores carry without giving up a rendition or a frame?
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimes } from '../test/support/cpu-times.ts';
import { sourceClip, startLadders, transcoderPids, transcoderWarnings } from './support/ladder.ts';
import { explainLadder, machineLadder } from './support/machine-ladder.ts';
import { cpuMs } from './support/process-usage.ts';
import { type Answer, type BenchOptions, show } from './support/question.ts';

const LADDERS = 6;
const SECONDS = { asked: 600, usual: 60 };

/** Answers it. */
export async function liveLadders({ long }: BenchOptions): Promise<readonly Answer[]> {
  const seconds = long ? SECONDS.asked : SECONDS.usual;
  const found = await machineLadder(LADDERS);
  const { ladder } = found;
  await using ladders = await startLadders(LADDERS, ladder, await sourceClip(ladder));
  const { server, streams, load } = ladders;
  const workers = transcoderPids(server, LADDERS);
  const groups = [[server.pid], workers, [load.pid]];
  const cpu = () => groups.map((pids) => pids.reduce((sum, pid) => sum + cpuMs(pid), 0));
  const before = [...cpu(), cpuTimes().stolenMs];
  const lags: number[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await sleep(500);
    for (const { id } of streams) {
      const { health } = (await server.api.getStream(id)) as unknown as { health?: { transcoder?: { lag: number } } };
      lags.push(health?.transcoder?.lag ?? Number.POSITIVE_INFINITY);
    }
  }
  const [ours, theirs, loads, stolen] = [...cpu(), cpuTimes().stolenMs].map((spent, index) =>
    show((spent - before[index]!) / 1000 / seconds),
  );
  const warnings = transcoderWarnings(server);
  return [
    {
      question: `live ladders (${ladder.name}) on ${cpus().length} cores for ${seconds} s${long ? '' : ` (${SECONDS.asked} s with --long)`}`,
      measured: `${LADDERS}, ${warnings.length} warnings${warnings.length > 0 ? ` (${warnings[0]})` : ''}, worst lag ${show(Math.max(...lags))} ms`,
      against: `cores used: server ${ours}, workers ${theirs}, publishers ${loads}; taken away by the host ${stolen}${explainLadder(found)}`,
      ratio: undefined,
      mustReach: `>= ${LADDERS} without shedding`,
      reached: warnings.length === 0 && transcoderPids(server, LADDERS).every((pid) => workers.includes(pid)),
    },
  ];
}
