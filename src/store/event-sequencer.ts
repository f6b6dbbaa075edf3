/**
 * Numbers events soon after they were stored. That makes them readable and creates their deliveries.
 *
 * Each process numbers its own events. A server also looks regularly for events of commands that run beside it, and for events that were
 * left by a process that died or could not reach the database.
 */
import { MillraceError } from '#domain/errors.ts';
import { pause } from '#lib/pause.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Store } from './store.ts';

/** The number of events numbered by one write. */
const BATCH = 500;
/** The pause after a failure. */
const RETRY_MS = 500;
/** How often a process checks whether other processes have left events. With SQLite, it sends a query only after a commit. */
const CHECK_EVERY_MS = 2000;

/** The options of an event sequencer. */
export interface EventSequencerOptions {
  readonly store: Pick<Store, 'events'>;
  readonly logger: Logger;
}

/** The event sequencer of one process. It begins with the events that are already stored. */
export class EventSequencer implements AsyncDisposable {
  readonly #options: EventSequencerOptions;
  readonly #closing = new AbortController();
  readonly #listening: Disposable;
  readonly #running: Promise<void>;
  #isWanted = true;
  #wake: () => void = () => {};

  constructor(options: EventSequencerOptions) {
    this.#options = options;
    this.#listening = options.store.events.onUnnumbered(() => {
      this.#isWanted = true;
      this.#wake();
    });
    this.#running = this.#run();
  }

  /** Numbers the remaining events if the store accepts it at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening[Symbol.dispose]();
    this.#closing.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, logger } = this.#options;
    const { signal } = this.#closing;
    for (;;) {
      try {
        if (this.#isWanted || (await store.events.areWaiting())) {
          this.#isWanted = false;
          if ((await store.events.number(BATCH)) === BATCH) this.#isWanted = true;
        }
        if (this.#isWanted) continue;
      } catch (error) {
        this.#isWanted = true;
        const isTemporary = error instanceof MillraceError;
        logger[isTemporary ? 'debug' : 'warn']({ err: error }, 'events not numbered yet');
        if (!signal.aborted) await pause(RETRY_MS, signal);
        if (!signal.aborted) continue;
      }
      if (signal.aborted) return;
      await this.#waitForEvents();
    }
  }

  /** Waits until there are events to number, or until it is time to look for others' events. */
  #waitForEvents(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#isWanted || this.#closing.signal.aborted) resolve();
    const timer = setTimeout(resolve, CHECK_EVERY_MS);
    return promise.finally(() => clearTimeout(timer));
  }
}
