/**
 * How much memory does the process of a transcoder take, and does it grow?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LADDER, sourceClip, startLadders, transcoderPids, transcoderWarnings } from './support/ladder.ts';
import { residentBytes } from './support/process-usage.ts';
import { type Answer, atMost, type BenchOptions, show } from './support/question.ts';
import { slope } from './support/statistics.ts';

const MB = 1e6;
const LIMIT_MB = 200;
const MINUTES = { asked: 30, usual: 3 };
/** The time until encoders have seen every kind of frame several times, V8 has compiled its code, and the allocator's memory is steady. */
const WARM_MS = 180_000;
const SAMPLE_EVERY_MS = 2000;
/** The memory of a process at rest varies by this much. */
const NOISE_MB = 2;

/** Answers both questions. */
export async function transcoderMemoryMb({ long }: BenchOptions): Promise<readonly Answer[]> {
  const minutes = long ? MINUTES.asked : MINUTES.usual;
  await using ladders = await startLadders(1, LADDER, await sourceClip(LADDER));
  const [pid] = transcoderPids(ladders.server, 1);
  const points: { x: number; y: number }[] = [];
  const countsFrom = performance.now() + WARM_MS;
  for (;;) {
    const atMinute = (performance.now() - countsFrom) / 60_000;
    if (atMinute >= minutes) break;
    if (atMinute >= 0) points.push({ x: atMinute, y: residentBytes(pid!) / MB });
    await sleep(SAMPLE_EVERY_MS);
    const [warning] = transcoderWarnings(ladders.server);
    if (warning !== undefined) throw new Error(`this machine is too busy to tell: ${warning}`);
  }
  const mbPerMinute = slope(points);
  const growthMb = mbPerMinute * minutes;
  const worst = Math.max(...points.map(({ y }) => y));
  return [
    atMost(`resident memory of the transcoder of ${LADDER.name}, most`, worst, LIMIT_MB, 'MB'),
    {
      question: `its slope over ${minutes} minutes${long ? '' : ` (${MINUTES.asked} with --long)`}`,
      measured: `${show(mbPerMinute)} MB a minute`,
      against: `${show(points[0]!.y)} MB at first, ${show(points.at(-1)!.y)} MB at last`,
      mustReach: `<= ${NOISE_MB} MB in all`,
      reached: growthMb <= NOISE_MB,
    },
  ];
}
