/**
 * Computes how long uploads pause after failures.
 */
import { type Milliseconds, ms } from '#lib/units.ts';

const FIRST_MS = 1000;
const LONGEST_MS = 300_000;

/**
 * The pause after a failure. It doubles with each failure, from one second to five minutes. Up to half of it is random, so that servers
 * whose uploads failed together do not try again together.
 * @param failures the number of failures in a row, at least 1
 * @param random a random number from 0 to 1
 */
export function uploadPause(failures: number, random: number): Milliseconds {
  const longest = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), LONGEST_MS);
  return ms(Math.max(FIRST_MS, Math.round(longest * (0.5 + random / 2))));
}
