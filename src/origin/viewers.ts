/**
 * Counts viewers: distinct addresses and user agents that asked for a playlist in the last ten seconds.
 */
import type { Clock } from '#lib/clock.ts';

/** A viewer is forgotten this long after its last playlist request. */
const IDLE_MS = 10_000;
/** Longer user agents are cut: they are chosen by the caller and kept in memory. */
const MAX_USER_AGENT_LENGTH = 200;

/** Who watches now, at most as many as may. */
export class Viewers {
  /** Monotonic time of each viewer's last playlist request, the longest ago first. */
  readonly #lastSeen = new Map<string, number>();
  readonly #limit: number;
  readonly #clock: Clock;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** How many there are. */
  get count(): number {
    this.#forgetIdle();
    return this.#lastSeen.size;
  }

  /**
   * Notes a playlist request.
   * @returns false, and nothing noted, when the viewer is new and there are as many as may be
   */
  note(address: string, userAgent: string | undefined): boolean {
    const key = `${address} ${userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? ''}`;
    const known = this.#lastSeen.delete(key);
    if (!known && this.#lastSeen.size >= this.#limit) {
      this.#forgetIdle();
      if (this.#lastSeen.size >= this.#limit) return false;
    }
    this.#lastSeen.set(key, this.#clock.monotonic());
    return true;
  }

  #forgetIdle(): void {
    const since = this.#clock.monotonic() - IDLE_MS;
    for (const [key, lastSeen] of this.#lastSeen) {
      if (lastSeen > since) return;
      this.#lastSeen.delete(key);
    }
  }
}
