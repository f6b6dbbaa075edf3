/**
 * The warnings of one session: which stand now, and since when.
 */

import type { ActiveWarning } from '#domain/health.ts';
import { WARNINGS, type Warning, type WarningCode, warningSentence } from '#domain/warnings.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Metrics } from '#telemetry/metrics.ts';

interface Raised {
  readonly warning: Warning;
  readonly since: Milliseconds;
  /** Monotonic time from which it counts no more. */
  readonly until: number;
}

const NONE: readonly ActiveWarning[] = [];

/** Holds at most one warning of each code: the latest, since the first. */
export class SessionWarnings {
  readonly #clock: Clock;
  readonly #metrics: Pick<Metrics, 'warnings'>;
  readonly #raised = new Map<WarningCode, Raised>();

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: Pick<Metrics, 'warnings'> }) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /**
   * Something happened, or a state began or goes on with other details.
   * @returns whether no warning of its code stood: worth a line in the log
   */
  raise(warning: Warning): boolean {
    const { code } = warning;
    const { lastsS } = WARNINGS[code];
    const before = this.#standing(code);
    this.#metrics.warnings.inc({ code });
    this.#raised.set(code, {
      warning,
      since: before?.since ?? this.#clock.now(),
      until: lastsS === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + lastsS * 1000,
    });
    return before === undefined;
  }

  /** What was warned of is so no more. */
  clear(code: WarningCode): void {
    this.#raised.delete(code);
  }

  /** Those that stand now, in the order they were first raised. Costs nothing while there are none. */
  get active(): readonly ActiveWarning[] {
    if (this.#raised.size === 0) return NONE;
    const standing = [...this.#raised.keys()].flatMap((code) => this.#standing(code) ?? []);
    return standing.map(({ warning, since }) => ({
      code: warning.code,
      severity: WARNINGS[warning.code].severity,
      message: warningSentence(warning),
      since,
    }));
  }

  /** Forgets it when it has lapsed. */
  #standing(code: WarningCode): Raised | undefined {
    const raised = this.#raised.get(code);
    if (raised === undefined || this.#clock.monotonic() < raised.until) return raised;
    this.#raised.delete(code);
    return undefined;
  }
}
