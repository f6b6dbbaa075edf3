/**
 * Timeouts that do not expire while their own process stands still.
 *
 * After a standstill, Node runs timers before it reads anything. A plain timer would therefore expire before the process could do what it
 * was given the time for.
 */

/** The number of ticks of a timeout. A standstill, however long it is, costs one of them. */
const TICKS = 15;

/**
 * Calls a function once, after a time in which this process was running.
 * @param limitMs the time; a standstill counts as at most a fifteenth of it
 * @returns the timer, which must be cleared when the limit no longer applies
 */
export function afterRunning(limitMs: number, late: () => void): NodeJS.Timeout {
  let ticksLeft = TICKS;
  const timer = setInterval(() => {
    ticksLeft -= 1;
    if (ticksLeft > 0) return;
    clearInterval(timer);
    late();
  }, limitMs / TICKS);
  return timer;
}
