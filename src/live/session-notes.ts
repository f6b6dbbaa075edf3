/**
 * Writes the state of live sessions while they run: enough for a later process to resume them and, where processes share the store, for
 * other nodes.
 */
import type { SessionHealth } from '#domain/health.ts';
import { newEventId } from '#domain/ids.ts';
import type { WarningCode } from '#domain/warnings.ts';
import type { Clock } from '#lib/clock.ts';
import type { SessionChange } from '#store/store.ts';
import type { LiveSession } from './live-session.ts';
import type { SessionJournal } from './session-journal.ts';

/** How often a session is written while media is received. It is more often where other processes read its state from the store. */
const EVERY_MS = { alone: 10_000, shared: 5000 };

/** The options of notes. */
export interface SessionNotesOptions {
  readonly journal: SessionJournal;
  readonly clock: Clock;
  /** Whether other processes may share the store. */
  readonly isShared: boolean;
}

/**
 * Writes the notes of one process. `isActive` says whether media of the session is being received.
 *
 * A session is written when its first part exists. A session that ends before that leaves nothing in the store. Otherwise a publisher that
 * starts and stops in a loop would fill the store with sessions that nobody could watch.
 */
export class SessionNotes {
  readonly everyMs: number;
  readonly #options: SessionNotesOptions;
  /** The sessions that are in the store or are being written to it. */
  readonly #written = new WeakSet<LiveSession>();
  /** The warnings of each session that were reported, and whose end was not reported yet. */
  readonly #warned = new WeakMap<LiveSession, ReadonlySet<WarningCode>>();

  /** The number of viewers of each session that was last written. */
  readonly #viewers = new WeakMap<LiveSession, number>();

  constructor(options: SessionNotesOptions) {
    this.#options = options;
    this.everyMs = options.isShared ? EVERY_MS.shared : EVERY_MS.alone;
  }

  /** Notes that a session was resumed from the store. */
  restored(session: LiveSession): void {
    this.#written.add(session);
  }

  /** Notes that media has been received for a while, or that its tracks changed. */
  seen(session: LiveSession, isActive: boolean): void {
    const { lastSeen, codecs, totals } = session;
    this.#changed(session, { lastSeen, codecs, totals, health: this.#healthOf(session, isActive) });
    this.activity(session, isActive);
    this.#noteWarnings(session);
  }

  /** Notes that the state of the session changed. */
  state(session: LiveSession, isActive: boolean): void {
    const change = this.#stateOf(session, isActive);
    if (session.state.phase !== 'live' || this.#written.has(session)) {
      this.#changed(session, change);
      return;
    }
    this.#written.add(session);
    this.#options.journal.created({ ...session.record, ...change, name: session.name, codecs: session.codecs });
  }

  /** Notes that media began or stopped being received. */
  activity(session: LiveSession, isActive: boolean): void {
    const { record, lastSeen } = session;
    const health = this.#healthOf(session, isActive);
    this.#options.journal.activity(record.streamId, { isActive, lastSeen, health });
  }

  /** Notes the stream's new name. */
  name(session: LiveSession, name: string): void {
    this.#changed(session, { name });
  }

  /** Notes how many viewers watch the session now. Writes nothing when there are as many as before. */
  viewers(session: LiveSession, viewers: number): void {
    if ((this.#viewers.get(session) ?? session.record.viewers) === viewers) return;
    this.#viewers.set(session, viewers);
    this.#changed(session, { viewers, totals: session.totals });
  }

  /** Notes the totals of a session that is discarded, including what its transcoder handed out after its end. */
  totals(session: LiveSession): void {
    this.#changed(session, { totals: session.totals });
  }

  /** Notes the whole state of a session again: another process may have taken this one for dead and ended the session. */
  again(session: LiveSession, isActive: boolean): void {
    if (this.#written.has(session)) this.#options.journal.resumed(session.record, this.#stateOf(session, isActive));
    this.activity(session, isActive);
  }

  /**
   * Reports the warnings that were raised and cleared since the last call. The time between calls bounds the number of events that a
   * session can cause. A warning that holds for at least that time is never missed.
   */
  #noteWarnings(session: LiveSession): void {
    if (!this.#written.has(session) || session.state.phase === 'ended') return;
    const before = this.#warned.get(session) ?? new Set();
    const standing = new Map(session.warnings.map((warning) => [warning.code, warning]));
    if (before.size === 0 && standing.size === 0) return;
    const { journal, clock } = this.#options;
    const { id: sessionId, streamId } = session.record;
    for (const { code, severity, message, since, measured } of standing.values()) {
      if (before.has(code)) continue;
      const payload = { code, severity, message, ...measured };
      journal.happened({ id: newEventId(), type: 'session.warning', at: since, streamId, sessionId, payload });
    }
    for (const code of before) {
      if (standing.has(code)) continue;
      const at = clock.now();
      journal.happened({
        id: newEventId(),
        type: 'session.warning_cleared',
        at,
        streamId,
        sessionId,
        payload: { code },
      });
    }
    this.#warned.set(session, new Set(standing.keys()));
  }

  #changed(session: LiveSession, change: SessionChange): void {
    if (this.#written.has(session)) this.#options.journal.changed(session.record, change);
  }

  #stateOf(session: LiveSession, isActive: boolean): SessionChange {
    const { state, lastSeen, totals } = session;
    return {
      phase: state.phase,
      lastSeen,
      totals,
      reconnectUntil: state.phase === 'reconnecting' ? state.until : undefined,
      health: this.#healthOf(session, isActive),
      ...(state.phase === 'ended' ? { endedAt: state.at, endReason: state.reason, viewers: 0 } : {}),
    };
  }

  /** The health that other nodes read from the store. Undefined when there are no other nodes. */
  #healthOf(session: LiveSession, isActive: boolean): SessionHealth | undefined {
    return isActive && this.#options.isShared ? session.health : undefined;
  }
}
