/**
 * Waiting for something to become true, never for time to pass.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The condition is checked at once, then after a short pause that doubles each time up to the longest one. Most conditions ask a server, so
 * checking more often would take a noticeable part of a core from it.
 */
const PAUSE_MS = { shortest: 1, longest: 100 } as const;

/**
 * Waits until `condition` returns something other than undefined or false, and returns that.
 * @param options.what completes "waited in vain for ..." in the error of a test that fails
 * @throws {Error} when the condition throws, or is not true within `timeoutMs`. The default is a minute: nothing that is waited for takes
 *   so long, but a shared machine may stand still for seconds
 */
export async function waitFor<Found>(
  condition: () => Found | undefined | false | Promise<Found | undefined | false>,
  { what, timeoutMs = 60_000 }: { readonly what: string; readonly timeoutMs?: number },
): Promise<Found> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs: number = PAUSE_MS.shortest; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}, ${timeoutMs} ms long`);
    await sleep(pauseMs);
  }
}
