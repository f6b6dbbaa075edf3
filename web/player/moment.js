// @ts-check
/**
 * The moment of a recording that the address of the page names: `?t=90` is 90 seconds after its start, and
 * `?t=1795175107913` a wall-clock time in milliseconds since the epoch.
 */

/** Numbers from here on are times: as seconds they would be three thousand years. */
const FIRST_TIME = 1e11;
/** The smallest distance from the end at which a replay begins, in seconds. Newer media of a running recording may not be listed yet. */
const BEFORE_END_S = 1;
const BEFORE_RUNNING_END_S = 10;

/**
 * Where to begin in a recording; undefined when the address names no moment.
 * @param {string} query of the page's address
 * @param {Pick<import('./recording.js').Recording, 'running' | 'duration'>} recording
 * @returns {import('./engine.js').StartAt | undefined}
 */
export function momentInAddress(query, { running, duration }) {
  const t = new URLSearchParams(query).get('t') ?? '';
  const given = /^\d{1,15}(\.\d{1,3})?$/.test(t) ? Number(t) : undefined;
  if (given === undefined) return undefined;
  if (given >= FIRST_TIME) return { dateMs: given };
  const lastS = Math.max(0, duration - (running ? BEFORE_RUNNING_END_S : BEFORE_END_S));
  return { positionS: Math.min(given, lastS) };
}
