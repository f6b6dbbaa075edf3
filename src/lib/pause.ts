/**
 * Pauses of a given time that can be aborted, and work that is repeated after such pauses.
 */

/** Resolves after a time, or at once when the signal aborts. */
export function pause(durationMs: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, durationMs);
  const stop = () => resolve();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  });
}

/** Does work at once, and again after each pause, until the signal aborts. Rejects with the first error of the work. */
export async function repeat(work: () => Promise<void>, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await work();
    await pause(everyMs, signal);
  }
}
