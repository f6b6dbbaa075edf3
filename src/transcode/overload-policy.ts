/**
 * What to give up when a worker cannot keep up, and when to try again. Pure: it is told the lag and the time.
 */
import { Backoff } from '#lib/backoff.ts';

/** A worker that is this far behind gives up a rendition. */
const BEHIND_MS = 1000;
/** Time for what was given up to show. */
const SETTLE_MS = 500;
/** So far behind that no rendition given up brings it back soon. */
const FAR_BEHIND_MS = 2000;
/** A worker that keeps within this has caught up. */
const CAUGHT_UP_MS = 250;
/** How long it must keep up before a rendition is tried again; longer after every relapse. */
const RETRY = { firstMs: 10_000, maxMs: 300_000 } as const;
/** A rendition that held this long after it was tried again was no mistake. */
const HELD_MS = 60_000;

/** What to do. */
export type OverloadAction =
  | { readonly type: 'shed'; readonly renditionId: string }
  | { readonly type: 'restore'; readonly renditionId: string }
  /** Drop what waits, up to a keyframe. */
  | { readonly type: 'skip' };

/** The rule for one session. Renditions are given up largest first and come back in the opposite order; the smallest is never given up. */
export class OverloadPolicy {
  readonly #retry = new Backoff(RETRY);
  #order: readonly string[];
  #shed: readonly string[] = [];
  #actedAt = Number.NEGATIVE_INFINITY;
  #restoredAt = Number.POSITIVE_INFINITY;
  /** Since when the worker has kept up. */
  #steadySince: number | undefined;
  #waitMs: number = RETRY.firstMs;

  /** @param order rendition ids, largest first */
  constructor(order: readonly string[]) {
    this.#order = order;
  }

  /** Renditions given up, in that order. */
  get shed(): readonly string[] {
    return this.#shed;
  }

  /** Other renditions are made from now on; those given up stay so where they still exist. */
  replaceOrder(order: readonly string[]): void {
    this.#order = order;
    this.#shed = order.slice(0, Math.min(this.#shed.length, Math.max(0, order.length - 1)));
  }

  /** What to do now; asked several times a second. */
  judge(lagMs: number, nowMs: number): OverloadAction | undefined {
    if (nowMs - this.#restoredAt > HELD_MS) {
      this.#retry.succeeded();
      this.#restoredAt = Number.POSITIVE_INFINITY;
    }
    if (lagMs > BEHIND_MS) return this.#behind(lagMs, nowMs);
    if (lagMs > CAUGHT_UP_MS) this.#steadySince = undefined;
    else this.#steadySince ??= nowMs;
    if (this.#steadySince === undefined || nowMs - this.#steadySince < this.#waitMs) return undefined;
    const renditionId = this.#shed.at(-1);
    if (renditionId === undefined) return undefined;
    this.#shed = this.#shed.slice(0, -1);
    this.#steadySince = nowMs;
    this.#restoredAt = nowMs;
    return { type: 'restore', renditionId };
  }

  #behind(lagMs: number, nowMs: number): OverloadAction | undefined {
    this.#steadySince = undefined;
    if (nowMs - this.#actedAt < SETTLE_MS) return undefined;
    this.#actedAt = nowMs;
    const renditionId = this.#order[this.#shed.length];
    if (lagMs > FAR_BEHIND_MS || renditionId === undefined || this.#shed.length >= this.#order.length - 1) {
      return { type: 'skip' };
    }
    // The first time nothing was tried again yet: the pause doubles only at a relapse.
    if (this.#shed.length === 0 || this.#restoredAt !== Number.POSITIVE_INFINITY) this.#waitMs = this.#retry.failed();
    this.#restoredAt = Number.POSITIVE_INFINITY;
    this.#shed = [...this.#shed, renditionId];
    return { type: 'shed', renditionId };
  }
}
