/**
 * How long after `npm start` does `/healthz` answer 200?
 */
import { timeStart } from './support/npm-start.ts';
import { type Answer, atMost } from './support/question.ts';
import { median } from './support/statistics.ts';

const ROUNDS = 7;

/** Answers it. */
export async function startMs(): Promise<readonly Answer[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await timeStart('npm', 'start'));
  return [atMost('`npm start` -> `/healthz` 200', median(times), 600, 'ms')];
}
