/**
 * How long uploads pause after failures.
 */
import { type Milliseconds, ms } from '#lib/units.ts';

const FIRST_MS = 1000;
const LONGEST_MS = 300_000;

/**
 * Twice as long after each failure, from one second to five minutes. A random half of it keeps servers that failed together from returning
 * together.
 * @param failures in a row, at least 1
 * @param random from 0 to 1
 */
export function uploadPause(failures: number, random: number): Milliseconds {
  const longest = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), LONGEST_MS);
  return ms(Math.max(FIRST_MS, Math.round(longest * (0.5 + random / 2))));
}
