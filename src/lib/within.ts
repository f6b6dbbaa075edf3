/**
 * Waits for a promise with a time limit.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a promise was fulfilled within a time. Rejects if the promise does. */
export async function within(durationMs: number, something: Promise<unknown>): Promise<boolean> {
  const giveUp = new AbortController();
  const late = sleep(durationMs, false, { signal: giveUp.signal }).catch(() => false);
  try {
    return await Promise.race([something.then(() => true), late]);
  } finally {
    giveUp.abort();
  }
}
