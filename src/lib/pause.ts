/**
 * A wait of a given time that can be aborted.
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
