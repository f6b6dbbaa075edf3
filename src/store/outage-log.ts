/**
 * Tells the log that the store is away and that it is back, never more than once a second however many calls fail.
 */
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Shortest time between two lines; also how long calls must go well before it is over. */
const INTERVAL_MS = 1000;

/** The log of one thing that can be away. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** Failures not told yet. */
  #untold = 0;
  #lastFailure: Milliseconds | undefined;
  #lastLine: Milliseconds | undefined;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** A call failed. @param reason in the system's words */
  failed(reason: string): void {
    const now = this.#clock.monotonic();
    this.#lastFailure = now;
    this.#untold += 1;
    if (this.#lastLine !== undefined && now - this.#lastLine < INTERVAL_MS) return;
    this.#logger.error({ reason, failures: this.#untold }, 'store unavailable');
    this.#lastLine = now;
    this.#untold = 0;
  }

  /** A call went well. */
  succeeded(): void {
    if (this.#lastFailure === undefined || this.#clock.monotonic() - this.#lastFailure < INTERVAL_MS) return;
    this.#logger.info({ failures: this.#untold }, 'store available again');
    this.#lastFailure = undefined;
    this.#lastLine = undefined;
    this.#untold = 0;
  }
}
