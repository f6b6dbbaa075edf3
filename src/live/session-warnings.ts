/**
 * The warnings of one session: which of them hold, and since when.
 */

import type { ActiveWarning } from '#domain/health.ts';
import { measuredOf, WARNINGS, type Warning, type WarningCode, warningSentence } from '#domain/warnings.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Metrics } from '#telemetry/metrics.ts';

interface Raised {
  readonly warning: Warning;
  readonly since: Milliseconds;
  /** The monotonic time at which it lapses. */
  readonly until: number;
}

const NONE: readonly ActiveWarning[] = [];

/** Holds at most one warning of each code: the latest one, with the time of the first. */
export class SessionWarnings {
  readonly #clock: Clock;
  readonly #metrics: Pick<Metrics, 'warnings'>;
  readonly #raised = new Map<WarningCode, Raised>();

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: Pick<Metrics, 'warnings'> }) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /**
   * Raises a warning, because something happened, or a state began or continues with other details.
   * @returns whether no warning with its code was held before, so that a log line is due
   */
  raise(warning: Warning): boolean {
    const { code } = warning;
    const { lastsS } = WARNINGS[code];
    const before = this.#standing(code);
    // A state that continues is counted once. An event is counted each time.
    if (before === undefined || lastsS !== undefined) this.#metrics.warnings.inc({ code });
    this.#raised.set(code, {
      warning,
      since: before?.since ?? this.#clock.now(),
      until: lastsS === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + lastsS * 1000,
    });
    return before === undefined;
  }

  /** Clears a warning, because its cause is gone. */
  clear(code: WarningCode): void {
    this.#raised.delete(code);
  }

  /** The warnings that hold now, in the order in which they were first raised. Costs nothing while there are none. */
  get active(): readonly ActiveWarning[] {
    if (this.#raised.size === 0) return NONE;
    const standing = [...this.#raised.keys()].flatMap((code) => this.#standing(code) ?? []);
    return standing.map(({ warning, since }) => {
      const measured = measuredOf(warning);
      return {
        code: warning.code,
        severity: WARNINGS[warning.code].severity,
        message: warningSentence(warning),
        since,
        ...(measured && { measured }),
      };
    });
  }

  /** Returns a warning that holds, and forgets one that has lapsed. */
  #standing(code: WarningCode): Raised | undefined {
    const raised = this.#raised.get(code);
    if (raised === undefined || this.#clock.monotonic() < raised.until) return raised;
    this.#raised.delete(code);
    return undefined;
  }
}
