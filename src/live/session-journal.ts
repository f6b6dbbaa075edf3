/**
 * Writes what happens to live sessions into the store, without live media ever waiting for it.
 *
 * For each stream it keeps the steps that are not written yet, in order. A step that makes an event (media begins or stops, a session
 * begins or ends, a warning) has a write of its own, so that no transition is lost while the store is down. Everything else is merged into
 * a waiting step. When a stream has more than {@link MAX_STEPS} steps, the oldest are dropped, and an event reports that. A write with an
 * unknown outcome is repeated, which is harmless: each write contains present values, and the store makes an event only of a change.
 */

import { MillraceError } from '#domain/errors.ts';
import type { NewStreamEvent } from '#domain/events.ts';
import { type NodeId, newEventId, type StreamId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import type { Clock } from '#lib/clock.ts';
import { pause } from '#lib/pause.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { SessionChange, Store } from '#store/store.ts';
import type { Logger } from '#telemetry/logger.ts';

/** The pause before the store is tried again. */
const RETRY_MS = 1000;

/** The number of steps kept for one stream: those of an hour in which its publisher reconnects every minute. */
const MAX_STEPS = 256;

/** The activity of a stream. */
export type StreamActivity = Parameters<Store['streams']['setActivity']>[1];

/** What is to be written about one session. */
interface Wish {
  /** The whole session when it must be created, otherwise undefined. */
  readonly create: Session | undefined;
  /** The time at which the creation was requested. */
  readonly at: Milliseconds | undefined;
  /** Whether another node may have ended the session because it took this node for dead. */
  readonly resume: boolean;
  readonly change: SessionChange;
}

const NO_WISH: Wish = { create: undefined, at: undefined, resume: false, change: {} };

/** One write. `at` is the time at which it was first requested. A step is never changed, only replaced by a later version of itself. */
type Step = { readonly at: Milliseconds } & (
  | { readonly about: 'activity'; readonly activity: StreamActivity }
  | { readonly about: 'session'; readonly sessionId: Session['id']; readonly wish: Wish }
  | { readonly about: 'event'; readonly event: NewStreamEvent }
);

/** The process that a journal writes for, where several processes share the store. */
export interface JournalOwner {
  /** The node of this process. The store rejects writes to sessions that belong to another node by now. */
  readonly nodeId: NodeId;
  /** Called with the stream of a session that cannot begin or continue on this node because another node has claimed the stream. */
  readonly onLost: (streamId: StreamId) => void;
}

interface Entry {
  /** The steps in the order in which they are written. The first one is being written. */
  steps: Step[];
  /** The number of steps dropped since the last event that reports it was written. */
  dropped: { readonly count: number; readonly from: Milliseconds; readonly until: Milliseconds } | undefined;
}

/** The options of a journal. */
export interface SessionJournalOptions {
  readonly store: Pick<Store, 'streams' | 'sessions' | 'events'>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Undefined when this is the only process. */
  readonly owner?: JournalOwner | undefined;
}

/** The journal of one process. */
export class SessionJournal implements AsyncDisposable {
  readonly #store: SessionJournalOptions['store'];
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #owner: JournalOwner | undefined;
  readonly #entries = new Map<StreamId, Entry>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor({ store, logger, clock, owner }: SessionJournalOptions) {
    this.#store = store;
    this.#logger = logger;
    this.#clock = clock;
    this.#owner = owner;
  }

  /** Writes a session that can be watched from now on. */
  created(session: Session): void {
    const wish = { ...NO_WISH, create: session, at: this.#clock.now() };
    this.#append(session.streamId, { about: 'session', sessionId: session.id, wish });
  }

  /** Writes a change of a session. It is merged with waiting changes, unless it is the end of the session. */
  changed(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange): void {
    this.#merge(session, { change });
  }

  /**
   * Continues a session that another node may have ended because it took this node for dead.
   * @param change the whole state of the session
   */
  resumed(session: Pick<Session, 'id' | 'streamId'>, change: SessionChange): void {
    this.#merge(session, { resume: true, change });
  }

  /** Writes a change of a stream's activity. Of activities with the same `isActive`, only the latest is written. */
  activity(streamId: StreamId, activity: StreamActivity): void {
    const steps = this.#entries.get(streamId)?.steps ?? [];
    const index = steps.findLastIndex(({ about }, at) => about === 'activity' && at > 0);
    const waiting = steps[index];
    const before = steps.findLast(({ about }, at) => about === 'activity' && (index < 0 || at < index));
    const isActive = (step: Step | undefined) => step?.about === 'activity' && step.activity.isActive;
    const at = this.#clock.now();
    if (waiting?.about === 'activity' && waiting.activity.isActive === activity.isActive) {
      steps[index] = { ...waiting, activity: { ...activity, at: waiting.activity.at ?? at } };
    } else {
      // An activity that changes nothing makes no event, so it need not be written.
      if (waiting !== undefined && before !== undefined && isActive(waiting) === isActive(before))
        steps.splice(index, 1);
      this.#append(streamId, { about: 'activity', activity: { ...activity, at } });
    }
  }

  /** Writes an event that is stored nowhere else. */
  happened(event: NewStreamEvent): void {
    this.#append(event.streamId, { about: 'event', event });
  }

  /** Writes the remaining steps, and then resolves. Stops at a store that does not accept them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  #merge({ id, streamId }: Pick<Session, 'id' | 'streamId'>, { change, ...rest }: Partial<Wish>): void {
    const steps = this.#entries.get(streamId)?.steps ?? [];
    const index = steps.findLastIndex((step) => step.about === 'session' && step.sessionId === id);
    const known = steps[index];
    const wish = known?.about === 'session' ? known.wish : NO_WISH;
    const merged = { ...wish, ...rest, change: { ...wish.change, ...change } };
    // An end is a step of its own, in its place among the others. It never continues a session.
    const mayMerge = index > 0 && (change?.phase !== 'ended' || (index === steps.length - 1 && !wish.resume));
    if (known?.about === 'session' && mayMerge) {
      steps[index] = { ...known, wish: merged };
      return;
    }
    // The previous step creates the session, or continues it.
    const next = { ...merged, create: undefined, resume: rest.resume ?? false };
    this.#append(streamId, { about: 'session', sessionId: id, wish: next });
  }

  #append(streamId: StreamId, step: DistributiveOmit<Step, 'at'>): void {
    const entry = this.#entries.get(streamId);
    const stamped = { ...step, at: this.#clock.now() } as Step;
    if (entry === undefined) {
      const created: Entry = { steps: [stamped], dropped: undefined };
      this.#entries.set(streamId, created);
      const run = this.#run(streamId, created);
      this.#running.add(run);
      void run.finally(() => this.#running.delete(run));
      return;
    }
    entry.steps.push(stamped);
    if (entry.steps.length > MAX_STEPS) dropOldest(entry);
  }

  async #run(streamId: StreamId, entry: Entry): Promise<void> {
    for (let step = entry.steps[0]; step !== undefined; step = entry.steps[0]) {
      try {
        await this.#write(streamId, step);
        await this.#reportDropped(streamId, entry);
        entry.steps.shift();
      } catch (error) {
        const mayHeal =
          error instanceof MillraceError && (error.code === 'store_unavailable' || error.code === 'outcome_unknown');
        // The store logs its own outage. A line for every stream and second would drown that.
        this.#logger[mayHeal ? 'debug' : 'warn']({ streamId, err: error }, 'session not written to the store');
        if (!mayHeal || this.#closing.signal.aborted) break;
        await pause(RETRY_MS, this.#closing.signal);
      }
    }
    this.#entries.delete(streamId);
  }

  async #write(streamId: StreamId, step: Step): Promise<void> {
    switch (step.about) {
      case 'activity':
        await this.#store.streams.setActivity(streamId, step.activity, this.#owner?.nodeId);
        return;
      case 'event':
        await this.#store.events.add([step.event]);
        return;
      case 'session': {
        const isOurs = await this.#writeSession({ id: step.sessionId, streamId }, step.wish);
        if (!isOurs && (step.wish.create !== undefined || step.wish.resume)) this.#owner?.onLost(streamId);
      }
    }
  }

  /** Writes one session. Returns false when it belongs to another node by now. */
  #writeSession(session: Pick<Session, 'id' | 'streamId'>, { create, at, resume, change }: Wish): Promise<boolean> {
    const { sessions } = this.#store;
    const nodeId = this.#owner?.nodeId;
    if (create !== undefined) return sessions.create({ ...create, ...change }, nodeId, at);
    if (resume && nodeId !== undefined) return sessions.resume(session, change, nodeId);
    return sessions.change(session.id, change, nodeId);
  }

  async #reportDropped(streamId: StreamId, entry: Entry): Promise<void> {
    const { dropped } = entry;
    if (dropped === undefined) return;
    entry.dropped = undefined;
    const event = {
      id: newEventId(),
      type: 'events.dropped',
      at: dropped.until,
      streamId,
      sessionId: undefined,
    } as const;
    entry.steps.splice(1, 0, { about: 'event', at: dropped.from, event: { ...event, payload: dropped } });
  }
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

/**
 * Makes room for one more step. When a dropped step has a later one for the same session, it is merged into that, so that a session is
 * stored however many of its steps are dropped.
 */
function dropOldest(entry: Entry): void {
  const { steps } = entry;
  // The first step is being written, and the last one is the new one.
  for (let index = 1; index < steps.length - 1; index += 1) {
    const step = steps[index]!;
    if (step.about === 'session') {
      const { sessionId, wish } = step;
      const next = steps.findIndex(
        (each, at) => at > index && each.about === 'session' && each.sessionId === sessionId,
      );
      const later = steps[next];
      if (later?.about === 'session') {
        const { create, at, resume } = wish;
        const merged = { ...later.wish, create, at, resume: resume || later.wish.resume };
        steps[next] = { ...later, wish: { ...merged, change: { ...wish.change, ...later.wish.change } } };
        steps.splice(index, 1);
        return;
      }
      // The session is running, so it must become known.
      if (wish.change.phase !== 'ended') continue;
    }
    steps.splice(index, 1);
    const { dropped } = entry;
    entry.dropped = { count: (dropped?.count ?? 0) + 1, from: dropped?.from ?? step.at, until: step.at };
    return;
  }
}
