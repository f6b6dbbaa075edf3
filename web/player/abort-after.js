// @ts-check
/** Limits how long a request may take. */

/**
 * A signal that aborts after a time. `AbortSignal.timeout` is not used, because Safari has it from 16 on only.
 * @param {number} limitMs
 */
export function abortAfter(limitMs) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), limitMs);
  return controller.signal;
}
