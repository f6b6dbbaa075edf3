/**
 * How long after `npm start` does `/healthz` answer 200?
 */
import { timeStart } from './support/npm-start.ts';
import { type Answer, atMost } from './support/question.ts';
import { inRounds } from './support/statistics.ts';

const ROUNDS = 7;

/** Answers the question above. */
export async function startMs(): Promise<readonly Answer[]> {
  const { ms } = await inRounds(ROUNDS, { ms: () => timeStart('npm', 'start') });
  return [atMost('`npm start` -> `/healthz` 200', ms, 600, 'ms')];
}
