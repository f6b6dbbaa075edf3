/**
 * Notices when a check that runs at regular intervals runs late because its own process was held up by a long task, or was stopped.
 *
 * When a late tick runs, nothing has been read of what others sent in the meantime, because Node runs timers before it reads sockets.
 * Therefore a late tick must not take others for silent or slow. The next tick may, even if it is late as well, because sockets were read
 * before it. So a machine that is always too slow still checks others.
 */

import type { Clock } from './clock.ts';

/** A tick may be this late on a busy machine. No check that uses this class decides by so short a time. */
const TOLERANCE_MS = 500;

/** The ticks of one check. Pure: the time is passed in. */
export class LateTicks {
  readonly #intervalMs: number;
  #lastMs: number;
  #wasLate = false;

  /** @param nowMs the monotonic time at which the timer is started */
  constructor(intervalMs: number, nowMs: number) {
    this.#intervalMs = intervalMs;
    this.#lastMs = nowMs;
  }

  /** Must be called at each tick. @returns by how many milliseconds it is late; 0 when it may judge others */
  tick(nowMs: number): number {
    const lateMs = nowMs - this.#lastMs - this.#intervalMs;
    this.#lastMs = nowMs;
    this.#wasLate = !this.#wasLate && lateMs > TOLERANCE_MS;
    return this.#wasLate ? lateMs : 0;
  }
}

/**
 * Runs a check at regular intervals until the returned timer is cleared.
 * @param check receives the result of {@link LateTicks.tick}: how late it runs, in milliseconds, and 0 when it may judge others
 */
export function everyTick(intervalMs: number, clock: Clock, check: (lateMs: number) => void): NodeJS.Timeout {
  const ticks = new LateTicks(intervalMs, clock.monotonic());
  return setInterval(() => check(ticks.tick(clock.monotonic())), intervalMs);
}
