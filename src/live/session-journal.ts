/**
 * Writes what happens to live sessions into the store, without live media ever waiting for it.
 *
 * For each stream only the latest wish is kept while a write is under way or the store is away, so the journal holds at
 * most one entry per stream and catches up by itself.
 */

import { MillraceError } from '#domain/errors.ts';
import type { StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { pause } from '#lib/pause.ts';
import type { SessionChange, Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Pause before the store is tried again. */
const RETRY_MS = 1000;

/** What live media says of a stream. */
export type StreamActivity = Parameters<Store['streams']['setActivity']>[1];

interface Entry {
  /** Sessions to be created or changed, in order of their beginning. */
  sessions: Map<Session['id'], { create: Session | undefined; change: SessionChange }>;
  activity: StreamActivity | undefined;
  running: boolean;
}

/** The journal of one process. */
export class SessionJournal implements AsyncDisposable {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #entries = new Map<StreamId, Entry>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(store: Store, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** A session began. */
  created(session: Session): void {
    this.#entry(session.streamId).sessions.set(session.id, { create: session, change: {} });
    this.#wake(session.streamId);
  }

  /** Something of a session changed; merged with what is not written yet. */
  changed(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange): void {
    const { sessions } = this.#entry(session.streamId);
    const wish = sessions.get(session.id) ?? { create: undefined, change: {} };
    sessions.set(session.id, { ...wish, change: { ...wish.change, ...change } });
    this.#wake(session.streamId);
  }

  /** A stream's activity changed; only the latest counts. */
  activity(streamId: StreamId, activity: StreamActivity): void {
    this.#entry(streamId).activity = activity;
    this.#wake(streamId);
  }

  /** Writes what is left, then resolves; gives up on a store that does not take it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  #entry(streamId: StreamId): Entry {
    let entry = this.#entries.get(streamId);
    if (entry === undefined) {
      entry = { sessions: new Map(), activity: undefined, running: false };
      this.#entries.set(streamId, entry);
    }
    return entry;
  }

  #wake(streamId: StreamId): void {
    const entry = this.#entry(streamId);
    if (entry.running) return;
    entry.running = true;
    const run = this.#run(streamId, entry);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  async #run(streamId: StreamId, entry: Entry): Promise<void> {
    while (entry.sessions.size > 0 || entry.activity !== undefined) {
      try {
        await this.#writeNext(streamId, entry);
      } catch (error) {
        const mayHeal = error instanceof MillraceError && error.code === 'store_unavailable';
        // The store says itself that it is away; every stream saying so, every second, would drown it.
        this.#logger[mayHeal ? 'debug' : 'warn']({ streamId, err: error }, 'session not written to the store');
        if (!mayHeal || this.#closing.signal.aborted) break;
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
    entry.running = false;
    this.#entries.delete(streamId);
  }

  async #writeNext(streamId: StreamId, entry: Entry): Promise<void> {
    const { activity } = entry;
    if (activity !== undefined) {
      await this.#store.streams.setActivity(streamId, activity);
      if (entry.activity === activity) entry.activity = undefined;
    }
    for (const [id, wish] of entry.sessions) {
      if (wish.create !== undefined) await this.#store.sessions.create({ ...wish.create, ...wish.change });
      else await this.#store.sessions.change(id, wish.change);
      const latest = entry.sessions.get(id);
      if (latest === wish) entry.sessions.delete(id);
      else if (latest !== undefined) entry.sessions.set(id, { create: undefined, change: latest.change });
    }
  }
}
