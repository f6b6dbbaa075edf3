/**
 * One reader of `GET /event/stream`. It gets the stored events after the last one it saw, and then each new event.
 *
 * The bytes written to a reader and not yet taken by it are bounded. A reader that falls behind is disconnected. It loses nothing, because
 * it reconnects with `Last-Event-ID`.
 */
import type { Http2ServerResponse } from 'node:http2';
import type { Writable } from 'node:stream';
import type { UserId } from '#domain/ids.ts';
import type { PacedTurns } from '#lib/paced-turns.ts';
import type { Scope } from '#store/page.ts';
import type { EventFilter, Store } from '#store/store.ts';
import { frameOf, type TailEvent, type TailReader } from './event-tail.ts';

/** The largest number of bytes that may wait for a reader. */
const MAX_WAITING_BYTES = 256 * 1024;
/** The number of events of the first page. Reading it takes hardly longer than another request, so it needs no turn. */
const FIRST_PAGE = 20;
/** The number of events of each further page, which takes about 3 ms of the event loop. */
const PAGE = 200;
/** How long a reader that is catching up may take for one page. */
const PAGE_TIMEOUT_MS = 30_000;

/** The options of an {@link EventReader}. */
export interface EventReaderOptions {
  /** The user who reads. Users take turns. */
  readonly userId: UserId;
  readonly scope: Scope;
  readonly filter: EventFilter;
  /** The sequence number of the last event that the reader has. */
  readonly after: number;
  readonly store: Pick<Store, 'events'>;
  /** Shared by all readers, so that those who read long histories together take only a share of the event loop. */
  readonly turns: PacedTurns;
  /** The response to write to. It is destroyed when the reader falls behind. */
  readonly output: Writable;
}

/** Whether the reader has left. Over HTTP/2, the response of Node has no `destroyed`, but its stream has. */
export function isReaderGone(output: Writable & Partial<Pick<Http2ServerResponse, 'stream'>>): boolean {
  return (output.stream ?? output).destroyed;
}

/** Writes events to one reader. */
export class EventReader implements TailReader {
  readonly #options: EventReaderOptions;
  /** The sequence number of the event written last. */
  #cursor: number;
  /** The sequence number of the newest event that was handed out while older ones were still being read. */
  #newest = 0;
  #isLive = false;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#cursor = options.after;
  }

  get userId(): UserId {
    return this.#options.userId;
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

  /** Writes the stored events. After that, new events are written as they arrive. Call it once the tail hands new events to this reader. */
  async catchUp(): Promise<void> {
    const { turns, userId } = this.#options;
    let isLast = await this.#writePage(FIRST_PAGE);
    while (!isLast) {
      await this.#taken();
      if (this.#isOver) return;
      isLast = await turns.run(userId, () => this.#writePage(PAGE));
    }
  }

  /** Whether nothing more can be written. */
  get #isOver(): boolean {
    const { output } = this.#options;
    return output.writableEnded || isReaderGone(output);
  }

  /** Writes the stored events after the newest one that was written. Returns whether there are no more, and the reader is live. */
  async #writePage(limit: number): Promise<boolean> {
    const { store, scope, filter } = this.#options;
    if (this.#isOver) return false;
    const found = await store.events.list(scope, { limit, direction: 'asc', after: this.#cursor, filter });
    for (const event of found) this.#write(frameOf(event), event.sequence);
    // Events handed out in the meantime are in the store, and are read with the next page.
    this.#isLive = found.length < limit && this.#newest <= this.#cursor;
    return this.#isLive;
  }

  /** Writes a comment line, which keeps the connection alive. */
  beat(): void {
    this.#options.output.write(':\n\n');
  }

  #write(frame: Buffer, sequence: number): void {
    const { output } = this.#options;
    if (this.#isOver) return;
    output.write(frame);
    this.#cursor = sequence;
    if (this.#isLive && output.writableLength > MAX_WAITING_BYTES) output.destroy();
  }

  /** Waits until the reader has taken what was written. */
  async #taken(): Promise<void> {
    const { output } = this.#options;
    if (!output.writableNeedDrain || isReaderGone(output)) return;
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
