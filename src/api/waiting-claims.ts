/**
 * Claims of requests that may be repeated, of which a twin waits for the first one's answer.
 */
import { pause } from '#lib/pause.ts';
import { ANSWERS_KEPT_MS, type IdempotencyClaim, type IdempotencyState, type Store } from '#store/store.ts';

/** After so long without an answer whoever claimed it is taken for dead. */
const PENDING_MS = 60_000;
/** How long a twin waits, in growing pauses, and how many do at one time; others are to come back. */
const MAX_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
const MAX_WAITING = 100;

/** Those of one process. The store is asked again and again, since the first of two twins may be another process's. */
export class WaitingClaims {
  readonly #store: Pick<Store, 'idempotency'>;
  #waiting = 0;

  constructor(store: Pick<Store, 'idempotency'>) {
    this.#store = store;
  }

  /** Claims it, or waits until its twin has been answered or has given up; `pending` when that took too long. */
  async claim(claim: IdempotencyClaim): Promise<IdempotencyState> {
    const state = await this.#ask(claim);
    if (state.state !== 'pending' || this.#waiting >= MAX_WAITING) return state;
    this.#waiting += 1;
    try {
      let pauseMs = FIRST_PAUSE_MS;
      for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += pauseMs) {
        await pause(pauseMs);
        const later = await this.#ask(claim);
        if (later.state !== 'pending') return later;
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      }
      return state;
    } finally {
      this.#waiting -= 1;
    }
  }

  #ask(claim: IdempotencyClaim): Promise<IdempotencyState> {
    return this.#store.idempotency.claim(claim, { pendingMs: PENDING_MS, keepMs: ANSWERS_KEPT_MS });
  }
}
