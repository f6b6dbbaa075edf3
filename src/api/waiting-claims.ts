/**
 * Claims `Idempotency-Key`s, and makes a repeat wait for the answer to the first request.
 */
import { pause } from '#lib/pause.ts';
import { ANSWERS_KEPT_MS, type IdempotencyClaim, type IdempotencyState } from '#store/receipt.ts';
import type { Store } from '#store/store.ts';

/** The time without an answer after which a claim no longer holds, because its process is taken for dead. */
const PENDING_MS = 60_000;
const TIMES = { pendingMs: PENDING_MS, keepMs: ANSWERS_KEPT_MS };
/** How long a repeat waits in growing pauses, and how many repeats may wait at one time. Others are refused and may try again. */
const MAX_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
const MAX_WAITING = 100;

/** The waiting repeats of one process. The store is polled, because the first request may be in another process. */
export class WaitingClaims {
  readonly #store: Pick<Store, 'idempotency'>;
  #waiting = 0;

  constructor(store: Pick<Store, 'idempotency'>) {
    this.#store = store;
  }

  /** Claims the key, or waits until the first request has been answered or released. The result is `pending` when that takes too long. */
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

  /** Looks up what is known of the request without claiming it. Undefined when it can be claimed. */
  async known(claim: IdempotencyClaim): Promise<IdempotencyState | undefined> {
    return await this.#store.idempotency.known(claim, TIMES);
  }

  #ask(claim: IdempotencyClaim): Promise<IdempotencyState> {
    return this.#store.idempotency.claim(claim, TIMES);
  }
}
