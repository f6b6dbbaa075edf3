/**
 * Hands new events to all live readers of this process, which share one read from the store.
 */
import type { ServiceEvent } from '#domain/events.ts';
import type { UserId } from '#domain/ids.ts';
import { pause } from '#lib/pause.ts';
import type { Scope } from '#store/page.ts';
import type { Store } from '#store/store.ts';
import { presentEvent } from './present-event.ts';

/** The number of events read at a time. */
const PAGE = 500;
/** The pause after the store failed. */
const RETRY_MS = 500;

/** An event, with its encoding for Server-Sent Events. */
export interface TailEvent {
  readonly event: ServiceEvent;
  /** Shared by all readers, and never changed. */
  readonly frame: Buffer;
}

/** A reader of live events. */
export interface TailReader {
  /** The user who reads. */
  readonly userId: UserId;
  /** Whose events are read: the reader's own, or those of others if the reader is an admin. */
  readonly scope: Scope;
  /** Called with each new event of the reader's scope, in order. */
  take(event: TailEvent): void;
  /** Called when the server stops. */
  end(): void;
}

/** Encodes an event for Server-Sent Events. */
export function frameOf(event: ServiceEvent): Buffer {
  return Buffer.from(`id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(presentEvent(event))}\n\n`);
}

/** The live readers of one process. */
export class EventTail implements Disposable {
  readonly #store: Pick<Store, 'events' | 'listen'>;
  readonly #readers = new Map<Scope, Set<TailReader>>();
  readonly #closing = new AbortController();
  readonly #listening: Disposable;
  #count = 0;
  /** The sequence number of the event that was handed out last. Undefined while nobody reads. */
  #position: number | undefined;
  #isReading = false;
  #isWanted = false;

  constructor(store: Pick<Store, 'events' | 'listen'>) {
    this.#store = store;
    this.#listening = store.listen(({ type }) => {
      if (type === 'events_added' || type === 'missed') this.#look();
    });
  }

  /** The number of readers. */
  get count(): number {
    return this.#count;
  }

  /** The number of event streams that a user reads. */
  countOf(userId: UserId): number {
    let count = 0;
    for (const readers of this.#readers.values()) {
      for (const reader of readers) if (reader.userId === userId) count += 1;
    }
    return count;
  }

  /**
   * Resolves once every event that is committed from then on will be handed out. A reader that reads older events from the store afterwards
   * misses none. Call it after {@link EventTail.add}. Rejects when the store fails.
   */
  async ready(): Promise<void> {
    if (this.#position !== undefined) return;
    const last = await this.#store.events.last();
    this.#position ??= last;
  }

  /** Hands new events to a reader until the returned object is disposed. */
  add(reader: TailReader): Disposable {
    const readers = this.#readers.get(reader.scope) ?? new Set();
    this.#readers.set(reader.scope, readers.add(reader));
    this.#count += 1;
    this.#look();
    return {
      [Symbol.dispose]: () => {
        if (!readers.delete(reader)) return;
        this.#count -= 1;
        if (readers.size === 0) this.#readers.delete(reader.scope);
      },
    };
  }

  /** Ends all readers. */
  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#closing.abort();
    for (const readers of this.#readers.values()) for (const reader of readers) reader.end();
  }

  #look(): void {
    this.#isWanted = true;
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#isWanted && !this.#closing.signal.aborted) {
      this.#isWanted = false;
      if (this.#count === 0) {
        this.#position = undefined;
        break;
      }
      try {
        await this.#handOut();
      } catch {
        // The store logs its own outage.
        this.#isWanted = true;
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
    this.#isReading = false;
  }

  /** Hands out all new events. Readers read older ones themselves. */
  async #handOut(): Promise<void> {
    const { events } = this.#store;
    await this.ready();
    for (let isLast = false; !isLast; ) {
      const after = this.#position ?? 0;
      const found = await events.list('everyone', { limit: PAGE, direction: 'asc', after, filter: {} });
      for (const event of found) {
        const own = this.#readers.get(event.userId);
        const admins = this.#readers.get('everyone');
        if (own !== undefined || admins !== undefined) {
          const tailEvent = { event, frame: frameOf(event) };
          for (const reader of own ?? []) reader.take(tailEvent);
          for (const reader of admins ?? []) reader.take(tailEvent);
        }
        this.#position = event.sequence;
      }
      isLast = found.length < PAGE;
    }
  }
}
