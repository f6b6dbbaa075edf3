/**
 * Decides how soon one transcoder may be started after another, because a process costs a second of CPU before it makes its first frame.
 * Pure: the time is passed in.
 */
import type { StreamId, UserId } from '#domain/ids.ts';

/** The time between two starts of one stream. */
const STREAM_MS = 5000;
/** The time between two starts of one user who has used up the starts without an interval. */
const USER_MS = 2000;

/** Remembers starts for as long as they delay others. */
export class StartIntervals {
  /** When each stream may start again, the earliest first. */
  readonly #streams = new Map<StreamId, number>();
  /** When each user may again make all its starts without an interval. */
  readonly #users = new Map<UserId, number>();

  /** The number of remembered users and streams. */
  get size(): number {
    return this.#streams.size + this.#users.size;
  }

  /**
   * Takes a start. Returns false when it is too early.
   * @param atOnce the number of starts that a user may make without an interval; each becomes available again after the interval
   * @param nowMs monotonic time
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
