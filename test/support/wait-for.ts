/**
 * Waiting for something to become true, never for time to pass.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The condition is checked at once, then after a short pause that doubles each time up to the longest one. Most conditions ask a server, so
 * checking more often would take a noticeable part of a core from it.
 */
const PAUSE_MS = { shortest: 1, longest: 40 } as const;

/**
 * Waits until `condition` gives something other than undefined or false, and gives that.
 * @param options.what completes "waited in vain for ...", in the message of a test that fails
 * @throws {Error} after `timeoutMs` (default 30 s: nothing takes so long, but a machine may be given away for seconds) without it, or when the condition throws
 */
export async function waitFor<Found>(
  condition: () => Found | undefined | false | Promise<Found | undefined | false>,
  { what, timeoutMs = 30_000 }: { readonly what: string; readonly timeoutMs?: number },
): Promise<Found> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs: number = PAUSE_MS.shortest; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}, ${timeoutMs} ms long`);
    await sleep(pauseMs);
  }
}
