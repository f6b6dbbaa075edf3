/**
 * One reader of `GET /event/stream`: first what the store has after the event it saw last, then each new event.
 *
 * What is written and not yet taken by the reader is bounded. A reader that falls behind is disconnected, and misses nothing: it comes
 * back with `Last-Event-ID`.
 */
import type { Writable } from 'node:stream';
import type { EventFilter, Scope, Store } from '#store/store.ts';
import { frameOf, type TailEvent, type TailReader } from './event-tail.ts';

/** Bytes that may wait for a reader. */
const MAX_WAITING_BYTES = 256 * 1024;
/** Events read from the store at a time. */
const PAGE = 200;
/** How long a reader that is catching up may take for one page. */
const PAGE_TIMEOUT_MS = 30_000;

/** What a reader is made with. */
export interface EventReaderOptions {
  readonly scope: Scope;
  readonly filter: EventFilter;
  /** The number of the event that it saw last. */
  readonly after: number;
  readonly store: Pick<Store, 'events'>;
  /** Where it reads from. Destroyed when it falls behind. */
  readonly output: Writable;
}

/** Writes events to one reader. */
export class EventReader implements TailReader {
  readonly #options: EventReaderOptions;
  /** The number of the event written last. */
  #cursor: number;
  /** The number of the newest event that was handed out while older ones were still being read. */
  #newest = 0;
  #isLive = false;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#cursor = options.after;
  }

  get scope(): Scope {
    return this.#options.scope;
  }

  take({ event, frame }: TailEvent): void {
    const { type, streamId } = this.#options.filter;
    if (type !== undefined && event.type !== type) return;
    if (streamId !== undefined && event.streamId !== streamId) return;
    this.#newest = event.sequence;
    if (this.#isLive && event.sequence > this.#cursor) this.#write(frame, event.sequence);
  }

  end(): void {
    this.#options.output.end();
  }

  /** Writes what is in the store; from then on, new events are written as they come. Call it once the tail hands them out. */
  async catchUp(): Promise<void> {
    const { store, scope, filter, output } = this.#options;
    while (!output.destroyed) {
      const found = await store.events.list(scope, { limit: PAGE, direction: 'asc', after: this.#cursor, filter });
      for (const event of found) this.#write(frameOf(event), event.sequence);
      // What was handed out meanwhile is in the store, and is read with the next page.
      if (found.length < PAGE && this.#newest <= this.#cursor) {
        this.#isLive = true;
        return;
      }
      await this.#taken();
    }
  }

  /** Says that the connection lives. */
  beat(): void {
    this.#options.output.write(':\n\n');
  }

  #write(frame: Buffer, sequence: number): void {
    const { output } = this.#options;
    if (output.destroyed || output.writableEnded) return;
    output.write(frame);
    this.#cursor = sequence;
    if (this.#isLive && output.writableLength > MAX_WAITING_BYTES) output.destroy();
  }

  /** Waits until the reader has taken what was written. */
  async #taken(): Promise<void> {
    const { output } = this.#options;
    if (!output.writableNeedDrain || output.destroyed) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => output.destroy(), PAGE_TIMEOUT_MS);
      const done = () => {
        clearTimeout(late);
        output.off('drain', done).off('close', done);
        resolve();
      };
      output.on('drain', done).on('close', done);
    });
  }
}
