/**
 * Writes what happens to live sessions into the store, without live media ever waiting for it.
 *
 * For each stream only the latest wish is kept while a write is under way or the store is away, so the journal holds at
 * most one entry per stream and catches up by itself. A write whose outcome is unknown is repeated, which is harmless: each write states
 * the present values, never a difference.
 */

import { MillraceError } from '#domain/errors.ts';
import type { NodeId, StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { pause } from '#lib/pause.ts';
import type { SessionChange, Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Pause before the store is tried again. */
const RETRY_MS = 1000;

/** What live media says of a stream. */
export type StreamActivity = Parameters<Store['streams']['setActivity']>[1];

/** What is to be written about one session. */
interface Wish {
  /** The whole session when it must still be created, otherwise undefined. */
  readonly create: Session | undefined;
  /** Whether another node may have ended the session because it took this node for dead. */
  readonly resume: boolean;
  readonly change: SessionChange;
}

const NO_WISH: Wish = { create: undefined, resume: false, change: {} };

/** The process that a journal writes for, where several processes share the store. */
export interface JournalOwner {
  /** The node of this process. The store rejects writes to sessions that belong to another node by now. */
  readonly nodeId: NodeId;
  /** Called with the stream of a session that cannot begin or continue here because another node has taken the stream. */
  readonly onLost: (streamId: StreamId) => void;
}

interface Entry {
  /** Sessions to be created or changed, in order of their beginning. */
  sessions: Map<Session['id'], Wish>;
  activity: StreamActivity | undefined;
  running: boolean;
}

/** The journal of one process. */
export class SessionJournal implements AsyncDisposable {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #owner: JournalOwner | undefined;
  readonly #entries = new Map<StreamId, Entry>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** @param owner undefined where this is the only process */
  constructor(store: Store, logger: Logger, owner?: JournalOwner) {
    this.#store = store;
    this.#logger = logger;
    this.#owner = owner;
  }

  /** A session began. */
  created(session: Session): void {
    this.#entry(session.streamId).sessions.set(session.id, { ...NO_WISH, create: session });
    this.#wake(session.streamId);
  }

  /** Something of a session changed; merged with what is not written yet. */
  changed(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange): void {
    this.#merge(session, { change });
  }

  /**
   * Continues a session that another node may have ended because it took this node for dead.
   * @param change all of the session's state
   */
  resumed(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange): void {
    this.#merge(session, { resume: true, change });
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

  #merge({ id, streamId }: Pick<Session, 'id' | 'streamId'>, { change, ...rest }: Partial<Wish>): void {
    const { sessions } = this.#entry(streamId);
    const wish = sessions.get(id) ?? NO_WISH;
    sessions.set(id, { ...wish, ...rest, change: { ...wish.change, ...change } });
    this.#wake(streamId);
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
        const mayHeal =
          error instanceof MillraceError && (error.code === 'store_unavailable' || error.code === 'outcome_unknown');
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
      await this.#store.streams.setActivity(streamId, activity, this.#owner?.nodeId);
      if (entry.activity === activity) entry.activity = undefined;
    }
    for (const [id, wish] of entry.sessions) {
      const isOurs = await this.#write({ id, streamId }, wish);
      if (!isOurs && (wish.create !== undefined || wish.resume)) this.#owner?.onLost(streamId);
      const latest = entry.sessions.get(id);
      if (latest === wish) entry.sessions.delete(id);
      else if (latest !== undefined) entry.sessions.set(id, { ...latest, create: undefined });
    }
  }

  /** Writes one session; false when it belongs to another node by now. */
  #write(session: Pick<Session, 'id' | 'streamId'>, { create, resume, change }: Wish): Promise<boolean> {
    const { sessions } = this.#store;
    const nodeId = this.#owner?.nodeId;
    if (create !== undefined) return sessions.create({ ...create, ...change }, nodeId);
    if (resume && nodeId !== undefined) return sessions.resume(session, change, nodeId);
    return sessions.change(session.id, change, nodeId);
  }
}
