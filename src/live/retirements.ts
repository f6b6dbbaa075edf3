/**
 * Discards sessions some time after their end. Until then the media in their last playlists can be fetched.
 */
import type { InternalErrors } from '#telemetry/internal-errors.ts';
import type { LiveSession } from './live-session.ts';

/** The sessions of one process that have ended. */
export class Retirements implements Disposable {
  readonly #afterMs: number;
  readonly #retire: (session: LiveSession) => void;
  readonly #errors: InternalErrors;
  readonly #timers = new Map<LiveSession, NodeJS.Timeout>();

  /**
   * @param afterMs how long after its end a session is discarded
   * @param retire discards a session
   */
  constructor(afterMs: number, retire: (session: LiveSession) => void, errors: InternalErrors) {
    this.#afterMs = afterMs;
    this.#retire = retire;
    this.#errors = errors;
  }

  /** Discards a session once the time has passed. */
  schedule(session: LiveSession): void {
    const retire = () => {
      try {
        this.#retire(session);
      } catch (error) {
        this.#errors.note('retire', error);
      }
    };
    this.#timers.set(session, setTimeout(retire, this.#afterMs).unref());
  }

  /** Cancels the discarding of a session, because it is discarded now. */
  cancel(session: LiveSession): void {
    clearTimeout(this.#timers.get(session));
    this.#timers.delete(session);
  }

  /** Cancels the discarding of all sessions. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
