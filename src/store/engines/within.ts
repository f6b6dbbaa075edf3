/**
 * Waiting for something, but not for ever.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether something came within a time. */
export async function within(durationMs: number, something: Promise<unknown>): Promise<boolean> {
  const giveUp = new AbortController();
  const late = sleep(durationMs, false, { signal: giveUp.signal }).catch(() => false);
  try {
    return await Promise.race([something.then(() => true), late]);
  } finally {
    giveUp.abort();
  }
}
