/**
 * Counts viewers: those who asked for a playlist in the last ten seconds, altogether and for each playback id.
 */
import type { PlaybackId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';

/** A viewer is forgotten this long after its last playlist request. */
const IDLE_MS = 10_000;

interface Viewing {
  readonly playbackId: PlaybackId;
  /** Monotonic time of the last playlist request. */
  readonly seenAt: number;
}

/** Who watches now, at most as many as may. One who watches two streams is two. */
export class Viewers {
  /** The longest ago first. */
  readonly #viewings = new Map<string, Viewing>();
  readonly #counts = new Map<PlaybackId, number>();
  readonly #limit: number;
  readonly #clock: Clock;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** How many there are. */
  get count(): number {
    this.#forgetIdle();
    return this.#viewings.size;
  }

  /** How many watch one stream. */
  countOf(playbackId: PlaybackId): number {
    this.#forgetIdle();
    return this.#counts.get(playbackId) ?? 0;
  }

  /**
   * Notes a playlist request.
   * @param viewer tells viewers apart; short, since it is kept
   * @returns false, and nothing noted, when the viewer is new and there are as many as may be
   */
  note(playbackId: PlaybackId, viewer: string): boolean {
    const key = `${playbackId} ${viewer}`;
    const known = this.#viewings.delete(key);
    if (!known) {
      if (this.#viewings.size >= this.#limit) this.#forgetIdle();
      if (this.#viewings.size >= this.#limit) return false;
      this.#counts.set(playbackId, (this.#counts.get(playbackId) ?? 0) + 1);
    }
    this.#viewings.set(key, { playbackId, seenAt: this.#clock.monotonic() });
    return true;
  }

  #forgetIdle(): void {
    const since = this.#clock.monotonic() - IDLE_MS;
    for (const [key, { playbackId, seenAt }] of this.#viewings) {
      if (seenAt > since) return;
      this.#viewings.delete(key);
      const left = (this.#counts.get(playbackId) ?? 0) - 1;
      if (left > 0) this.#counts.set(playbackId, left);
      else this.#counts.delete(playbackId);
    }
  }
}
