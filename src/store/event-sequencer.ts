/**
 * Numbers events soon after they were stored, which makes them readable and makes their deliveries.
 *
 * Each process numbers what it has stored, and looks now and then for what a process that died, or could not reach the database, has left.
 */
import { MillraceError } from '#domain/errors.ts';
import { pause } from '#lib/pause.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Store } from './store.ts';

/** Events numbered by one write. */
const BATCH = 500;
/** Pause after a failure. */
const RETRY_MS = 500;
/** How often events that others have left are looked for, where there are others. */
const LOOK_EVERY_MS = 2000;

/** What a sequencer is made with. */
export interface EventSequencerOptions {
  readonly store: Pick<Store, 'events' | 'isShared'>;
  readonly logger: Logger;
}

/** The sequencer of one process. It begins with what is there already. */
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

  /** Numbers what is left, if the store takes it at once. */
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
        const mayHeal = error instanceof MillraceError;
        logger[mayHeal ? 'debug' : 'warn']({ err: error }, 'events not numbered yet');
        if (!signal.aborted) await pause(RETRY_MS, signal);
        if (!signal.aborted) continue;
      }
      if (signal.aborted) return;
      await this.#wanted();
    }
  }

  /** Waits until there is something to do, or until it is time to look. */
  #wanted(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#isWanted || this.#closing.signal.aborted) resolve();
    const timer = this.#options.store.isShared ? setTimeout(resolve, LOOK_EVERY_MS) : undefined;
    return promise.finally(() => clearTimeout(timer));
  }
}
