/**
 * How soon one transcoder may be started after another: a process costs a second of CPU before it makes its first picture. Pure: it is
 * told the time.
 */
import type { StreamId, UserId } from '#domain/ids.ts';

/** Between two starts of one stream. */
const STREAM_MS = 5000;
/** Between two starts of one user, once it has started as many at once as it may. */
const USER_MS = 2000;

/** Remembers starts for as long as they matter. */
export class StartIntervals {
  /** From when on each stream may start again; the earliest first. */
  readonly #streams = new Map<StreamId, number>();
  /** When each user will have its whole allowance again. */
  readonly #users = new Map<UserId, number>();

  /** Users and streams that are remembered. */
  get size(): number {
    return this.#streams.size + this.#users.size;
  }

  /**
   * Takes a start, or says that it is too early.
   * @param atOnce starts a user may make without any interval; each comes back after the interval
   */
  take({ streamId, userId, atOnce }: { streamId: StreamId; userId: UserId; atOnce: number }, nowMs: number): boolean {
    forgetPast(this.#streams, nowMs);
    forgetPast(this.#users, nowMs);
    const wholeAt = Math.max(nowMs, this.#users.get(userId) ?? 0) + USER_MS;
    if (this.#streams.has(streamId) || wholeAt - nowMs > Math.max(1, atOnce) * USER_MS) return false;
    this.#streams.set(streamId, nowMs + STREAM_MS);
    this.#users.set(userId, wholeAt);
    return true;
  }
}

function forgetPast<Id>(until: Map<Id, number>, nowMs: number): void {
  for (const [id, at] of until) if (at <= nowMs) until.delete(id);
}
