/**
 * Takes the errors that nothing else has caught.
 */
import type { Clock } from '#lib/clock.ts';
import type { InternalErrors } from '#telemetry/internal-errors.ts';

/** As many in one minute are no accident any more: what fails does so without end, and only a new process can help. */
const MOST_PER_MINUTE = 100;
const MINUTE_MS = 60_000;

/**
 * Lets the process go on after an error, or a rejected promise, that nothing has caught: what was under way at that moment is broken off,
 * and all the rest has nothing to do with it. To be called once the server is ready, so that a start that fails ends the process.
 * @returns resolves when there were more than 100 in one minute: the server should stop, and be started anew by its supervisor
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
  // Rejections that nobody handles arrive here as well.
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
