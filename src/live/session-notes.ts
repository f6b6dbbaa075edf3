/**
 * What is written of live sessions while they run: enough for what comes after them, and, where processes share the store, for those
 * they do not run in.
 */
import type { SessionHealth } from '#domain/health.ts';
import { newEventId } from '#domain/ids.ts';
import type { WarningCode } from '#domain/warnings.ts';
import type { Clock } from '#lib/clock.ts';
import type { SessionChange } from '#store/store.ts';
import type { LiveSession } from './live-session.ts';
import type { SessionJournal } from './session-journal.ts';

/** How often a session is noted while media comes in: more often where other processes have nothing else to tell of it. */
const EVERY_MS = { alone: 10_000, shared: 5000 };

/** What notes are made with. */
export interface SessionNotesOptions {
  readonly journal: SessionJournal;
  readonly clock: Clock;
  /** Whether there may be others. */
  readonly isShared: boolean;
}

/**
 * Writes the notes of one process. `isActive` says whether media of the session is coming in.
 *
 * A session is written when its first part is there. A session that ends before that leaves nothing in the store: a publisher that starts
 * and stops in a loop would otherwise fill the store with sessions that nobody could watch.
 */
export class SessionNotes {
  readonly everyMs: number;
  readonly #options: SessionNotesOptions;
  /** The sessions that are in the store or are being written to it. */
  readonly #written = new WeakSet<LiveSession>();
  /** The warnings of each session that were reported as events and not as cleared. */
  readonly #warned = new WeakMap<LiveSession, ReadonlySet<WarningCode>>();

  constructor(options: SessionNotesOptions) {
    this.#options = options;
    this.everyMs = options.isShared ? EVERY_MS.shared : EVERY_MS.alone;
  }

  /** Notes that a session was taken up from the store. */
  restored(session: LiveSession): void {
    this.#written.add(session);
  }

  /** Notes that media has come in for a while, or with other tracks. */
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

  /** Notes that media began or stopped coming in. */
  activity(session: LiveSession, isActive: boolean): void {
    const { record, lastSeen } = session;
    const health = this.#healthOf(session, isActive);
    this.#options.journal.activity(record.streamId, { isActive, lastSeen, health });
  }

  /** Notes that the stream of the session has another name. */
  name(session: LiveSession, name: string): void {
    this.#changed(session, { name });
  }

  /** Notes how many viewers watch the session now. */
  viewers(session: LiveSession, viewers: number): void {
    this.#changed(session, { viewers, totals: session.totals });
  }

  /** Notes the totals of a session that is let go of: what its transcoder handed out after its end counts, too. */
  totals(session: LiveSession): void {
    this.#changed(session, { totals: session.totals });
  }

  /** Notes the whole state of a session again: another process may have taken this one for dead and ended the session. */
  again(session: LiveSession, isActive: boolean): void {
    if (this.#written.has(session)) this.#options.journal.resumed(session.record, this.#stateOf(session, isActive));
    this.activity(session, isActive);
  }

  /**
   * Reports the warnings that were raised and cleared since the last look. Looking only now and then bounds how many events a session can
   * cause; a warning that holds for at least as long as the time between two looks is never missed.
   */
  #noteWarnings(session: LiveSession): void {
    if (!this.#written.has(session) || session.state.phase === 'ended') return;
    const before = this.#warned.get(session) ?? new Set();
    const standing = new Map(session.warnings.map((warning) => [warning.code, warning]));
    if (before.size === 0 && standing.size === 0) return;
    const { journal, clock } = this.#options;
    const { id: sessionId, streamId } = session.record;
    for (const { code, severity, message, since } of standing.values()) {
      if (before.has(code)) continue;
      const payload = { code, severity, message };
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

  /** The health that other nodes read from the store; undefined where there are none. */
  #healthOf(session: LiveSession, isActive: boolean): SessionHealth | undefined {
    return isActive && this.#options.isShared ? session.health : undefined;
  }
}
