/**
 * Decides what to shed when a worker cannot keep up, and when to restore it. Pure: the lag and the time are passed in.
 */
import { Backoff } from '#lib/backoff.ts';

/** The lag at which a rendition is shed. It has nothing to do with `BEHIND_S` of `live/session-media.ts`, the lag at which gaps are written. */
const BEHIND_MS = 1000;
/** The time that shedding a rendition, or skipping to a keyframe, gets to take effect before the policy acts again. */
const SETTLE_MS = 500;
/** A lag that is too large to be reduced by shedding renditions. Waiting packets are dropped instead. */
const FAR_BEHIND_MS = 2000;
/** The lag below which a worker has caught up. */
const CAUGHT_UP_MS = 250;
/** How long a worker must keep up before a rendition is restored. It is longer after every relapse. */
const RETRY = { firstMs: 10_000, maxMs: 300_000 } as const;
/** When a restored rendition has been made for this long, restoring it counts as a success. */
const STABLE_MS = 60_000;

/** What to do. */
export type OverloadAction =
  | { readonly type: 'shed'; readonly renditionId: string }
  | { readonly type: 'restore'; readonly renditionId: string }
  /** Drop waiting packets up to a keyframe. */
  | { readonly type: 'skip' };

/** The policy of one session. Renditions are shed largest first and restored in the opposite order. The smallest is never shed. */
export class OverloadPolicy {
  readonly #retry = new Backoff(RETRY);
  #order: readonly string[];
  #shed: readonly string[] = [];
  /** The time at which a rendition was last shed, or packets were last dropped. */
  #actedAt = Number.NEGATIVE_INFINITY;
  /** The time at which a rendition was last restored. Infinite once that has succeeded or failed. */
  #restoredAt = Number.POSITIVE_INFINITY;
  /** The time since which the worker has kept up. */
  #steadySince: number | undefined;
  /** How long the worker must keep up before the next rendition is restored. */
  #waitMs: number = RETRY.firstMs;

  /** @param order the ids of the renditions, largest first */
  constructor(order: readonly string[]) {
    this.#order = order;
  }

  /** The shed renditions, in the order in which they were shed. */
  get shed(): readonly string[] {
    return this.#shed;
  }

  /** Sets other renditions. As many of them are shed as were shed before, the largest first, but never the last. */
  replaceOrder(order: readonly string[]): void {
    this.#order = order;
    this.#shed = order.slice(0, Math.min(this.#shed.length, Math.max(0, order.length - 1)));
  }

  /**
   * Takes out a rendition that is not made any more. The others stay as they are, except that the smallest of them is never shed.
   * @returns the smallest of them, if it was shed until now
   */
  leaveOut(renditionId: string): string | undefined {
    this.#order = this.#order.filter((id) => id !== renditionId);
    const shed = this.#shed.filter((id) => id !== renditionId);
    this.#shed = shed.slice(0, Math.max(0, this.#order.length - 1));
    return shed[this.#shed.length];
  }

  /** Decides what to do now. Called several times a second. */
  judge(lagMs: number, nowMs: number): OverloadAction | undefined {
    if (nowMs - this.#restoredAt > STABLE_MS) {
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
    // The pause doubles only after a relapse. The first time nothing has been restored yet.
    if (this.#shed.length === 0 || this.#restoredAt !== Number.POSITIVE_INFINITY) this.#waitMs = this.#retry.failed();
    this.#restoredAt = Number.POSITIVE_INFINITY;
    this.#shed = [...this.#shed, renditionId];
    return { type: 'shed', renditionId };
  }
}
