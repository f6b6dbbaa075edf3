/**
 * Logs that the store is unavailable and that it is available again, at most once a second however many calls fail.
 */
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';

/** The shortest time between two lines, and the time for which calls must succeed before an outage is over. */
const INTERVAL_MS = 1000;

/** The outage log of one connection or worker. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** The number of failures that have not been logged yet. */
  #unlogged = 0;
  #lastFailure: Milliseconds | undefined;
  #lastLine: Milliseconds | undefined;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Notes a failed call. @param reason the system's message */
  failed(reason: string): void {
    const now = this.#clock.monotonic();
    this.#lastFailure = now;
    this.#unlogged += 1;
    if (this.#lastLine !== undefined && now - this.#lastLine < INTERVAL_MS) return;
    this.#logger.error({ reason, failures: this.#unlogged }, 'store unavailable');
    this.#lastLine = now;
    this.#unlogged = 0;
  }

  /** Notes a successful call. */
  succeeded(): void {
    if (this.#lastFailure === undefined || this.#clock.monotonic() - this.#lastFailure < INTERVAL_MS) return;
    this.#logger.info({ failures: this.#unlogged }, 'store available again');
    this.#lastFailure = undefined;
    this.#lastLine = undefined;
    this.#unlogged = 0;
  }
}
