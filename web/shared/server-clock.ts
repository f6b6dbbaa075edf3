/**
 * The server's clock. Times are shown and asked for by it, because a browser's clock may be wrong.
 */

/** Milliseconds by which the server's clock is ahead of this page's. */
let aheadMs = 0;

/** The time by the server's clock. */
export const serverNow = (): number => Date.now() + aheadMs;

/** Milliseconds by which the server's clock is ahead of this browser's. 0 for a difference of less than about two seconds. */
export const clockDifferenceMs = (): number => aheadMs;

/** Reads the server's clock from an answer. Its header has whole seconds, so only a difference of more than a second is one of the clocks. */
export function noteServerTime({ headers }: Response): void {
  const date = Date.parse(headers.get('date') ?? '');
  if (!Number.isFinite(date)) return;
  const difference = date + 500 - Date.now();
  aheadMs = Math.abs(difference) > 1500 ? difference : 0;
}
