/**
 * Logs requests that failed through the service's own fault: the first of each kind at once, further ones as a count a second later.
 */
import { ERRORS, type MillraceError } from '#domain/errors.ts';
import type { Logger } from '#telemetry/logger.ts';

/** How long further failures of the same kind are only counted. */
const INTERVAL_MS = 1000;

/** A request that failed. */
export interface FailedRequest {
  readonly requestId: string;
  /** The pattern of the route, not the path, so that there are few kinds. */
  readonly route: string | undefined;
}

/** Logs the failed requests of one server. */
export class FailureLog {
  readonly #logger: Logger;
  /** Failures that are not logged yet, by kind. */
  readonly #unreported = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes note of a failed request. Only the service's own faults are logged, because callers learn of theirs from the answer. */
  failed(request: FailedRequest, error: MillraceError): void {
    const { code, cause } = error;
    if (ERRORS[code].fault !== 'service') return;
    const kind = `${code} ${request.route}`;
    const unreported = this.#unreported.get(kind);
    if (unreported !== undefined) {
      this.#unreported.set(kind, unreported + 1);
      return;
    }
    // Only an unexpected error needs its stack.
    const why = code === 'internal_error' ? { err: cause ?? error } : { reason: reasonOf(cause) };
    this.#logger.error({ ...request, code, ...why }, 'request failed');
    this.#unreported.set(kind, 0);
    setTimeout(() => this.#reportRest(kind, request, code), INTERVAL_MS).unref();
  }

  #reportRest(kind: string, { route }: FailedRequest, code: string): void {
    const failures = this.#unreported.get(kind);
    this.#unreported.delete(kind);
    if (failures) this.#logger.error({ route, code, failures }, 'more requests failed');
  }
}

/** The system's own words about why a store or a node cannot be reached. */
function reasonOf(cause: unknown): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}
