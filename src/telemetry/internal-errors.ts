/**
 * Errors that are our own fault: each is counted, and each kind of them is logged once.
 */
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** Kinds remembered; there are as many as places in the code that fail, so beyond this none is told. */
const MAX_KINDS = 100;

/** Where an error was caught: a label of the metric. */
export type ErrorPlace =
  | 'ingest' // what a publisher sent was being taken in
  | 'session' // the session's own work: its pacer, its state, its end
  | 'transcoder' // what a transcoder made was being taken in
  | 'retire' // an ended session was being let go of
  | 'process'; // nowhere else

/** Takes note of errors. What became of what they broke off is its caller's business. */
export class InternalErrors {
  readonly #logger: Logger;
  readonly #metrics: Pick<Metrics, 'internalErrors'>;
  readonly #kinds = new Set<string>();

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'internalErrors'> }) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** Counts an error; the first of its kind, thrown at the same line, is logged with its stack. Never throws. */
  note(where: ErrorPlace, error: unknown): void {
    this.#metrics.internalErrors.inc({ where });
    const kind = `${where} ${kindOf(error)}`;
    if (this.#kinds.has(kind) || this.#kinds.size >= MAX_KINDS) return;
    this.#kinds.add(kind);
    this.#logger.error({ where, err: error }, 'internal error; further ones of this kind are only counted');
  }
}

/** By its name and the line that threw it: messages may hold what differs each time. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const thrownAt = String(error.stack)
    .split('\n')
    .find((line) => line.trimStart().startsWith('at '));
  return `${error.name} ${thrownAt ?? error.message}`;
}
