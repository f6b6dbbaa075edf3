/**
 * Handles the errors that nothing else has caught.
 */
import type { Clock } from '#lib/clock.ts';
import { MINUTE_MS } from '#lib/units.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';

/** The most errors in one minute. With more, something fails again and again, and only a new process can help. */
const MOST_PER_MINUTE = 100;

/**
 * Lets the process go on after an error or a rejected promise that nothing has caught: only the work in which it was thrown is
 * interrupted. Call it once the server is ready, so that a start that fails still ends the process.
 * @returns a promise that resolves after more than 100 such errors in one minute. The server should then stop, so that its supervisor
 *   starts it anew.
 */
export function surviveErrors({
  errors,
  clock,
}: {
  readonly errors: InternalErrors;
  readonly clock: Clock;
}): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  let since = clock.monotonic();
  // Node hands unhandled rejections to this listener as well.
  process.on('uncaughtException', (error: unknown) => {
    errors.note('process', error);
    const now = clock.monotonic();
    if (now - since >= MINUTE_MS) {
      count = 0;
      since = now;
    }
    count += 1;
    if (count > MOST_PER_MINUTE) resolve();
  });
  return promise;
}
