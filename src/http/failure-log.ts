/**
 * Tells the log of requests that failed through our own fault, never more than once a second for each kind, however many fail.
 */
import { ERRORS, type MillraceError } from '#domain/errors.ts';
import type { Logger } from '#telemetry/logger.ts';

/** How long more of the same are only counted. */
const INTERVAL_MS = 1000;

/** A request that failed. */
export interface FailedRequest {
  readonly requestId: string;
  /** Its pattern: as many as there are routes. */
  readonly route: string | undefined;
}

/** The log of one server. */
export class FailureLog {
  readonly #logger: Logger;
  /** Failures not told yet, by kind. */
  readonly #untold = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A request failed. Whose fault it is decides whether it is told: callers are told themselves. */
  failed(request: FailedRequest, error: MillraceError): void {
    const { code, cause } = error;
    if (ERRORS[code].fault !== 'service') return;
    const kind = `${code} ${request.route}`;
    const untold = this.#untold.get(kind);
    if (untold !== undefined) {
      this.#untold.set(kind, untold + 1);
      return;
    }
    // Only of what nobody expected does it matter where it came from.
    const why = code === 'internal_error' ? { err: cause ?? error } : { reason: reasonOf(cause) };
    this.#logger.error({ ...request, code, ...why }, 'request failed');
    this.#untold.set(kind, 0);
    setTimeout(() => this.#tellRest(kind, request, code), INTERVAL_MS).unref();
  }

  #tellRest(kind: string, { route }: FailedRequest, code: string): void {
    const failures = this.#untold.get(kind);
    this.#untold.delete(kind);
    if (failures) this.#logger.error({ route, code, failures }, 'more requests failed');
  }
}

/** In the system's words: why a store or a node cannot be reached. */
function reasonOf(cause: unknown): string | undefined {
  return cause instanceof Error ? cause.message : undefined;
}
