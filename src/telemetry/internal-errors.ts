/**
 * Errors that are the service's own fault. Each is counted, and the first of each kind is logged.
 */
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { showing } from './shown-stacks.ts';

/** How many kinds are logged. There is one for each place in the code that fails, so further kinds are only counted. */
const MAX_KINDS = 100;

/** Where errors are caught. Each is a value of the metric's label. */
const ERROR_PLACES = [
  'ingest', // while handling what a publisher sent
  'session', // in the session's own work: its pacer, its state, its end
  'transcoder', // while handling what a transcoder produced
  'retire', // while releasing a session that has ended
  'process', // by the process's last handler, because nothing else caught it
] as const;

/** Where an error was caught. */
export type ErrorPlace = (typeof ERROR_PLACES)[number];

/** Counts and logs internal errors. The caller decides what happens to the work that an error interrupted. */
export class InternalErrors {
  readonly #logger: Logger;
  readonly #metrics: Pick<Metrics, 'internalErrors'>;
  readonly #kinds = new Set<string>();

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'internalErrors'> }) {
    this.#logger = logger;
    this.#metrics = metrics;
    // Each counter begins at 0, because Prometheus sees no increase in a series that is new.
    for (const where of ERROR_PLACES) metrics.internalErrors.inc({ where }, 0);
  }

  /** Counts an error, and logs the first of its kind with its stack. Errors are of one kind when the same line threw them. Never throws. */
  note(where: ErrorPlace, error: unknown): void {
    this.#metrics.internalErrors.inc({ where });
    const kind = `${where} ${kindOf(error)}`;
    if (this.#kinds.has(kind) || this.#kinds.size >= MAX_KINDS) return;
    this.#kinds.add(kind);
    this.#logger.error({ where, err: error }, 'internal error; further ones of this kind are only counted');
  }
}

/** An error's name and the line that threw it. Its message is left out because it may differ each time. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const thrownAt = String(showing(() => error.stack))
    .split('\n')
    .find((line) => line.trimStart().startsWith('at '));
  return `${error.name} ${thrownAt ?? error.message}`;
}
