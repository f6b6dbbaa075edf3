/**
 * Measures how media arrives: how much in each second, how evenly, and how fast compared with the clock. Pure: times come with the packets.
 */

/** What arrived since the last measurement. */
export interface Arrival {
  readonly durationMs: number;
  /** Of the least and the most received in one second, and of everything, in bits per second. */
  readonly bitrateBps: { readonly min: number; readonly mean: number; readonly max: number };
  readonly framesPerSecond: number;
  readonly longestGapS: number;
  readonly speed: number;
  readonly driftS: number;
}

const SECOND_MS = 1000;

/** The meter of one session's source. Times by the clock are monotonic, in milliseconds. */
export class ArrivalMeter {
  #since: number | undefined;
  #bytes = 0;
  #frames = 0;
  #longestGapMs = 0;
  /** The newest frame, by the clock. Undefined before the first one of a publisher. */
  #frameAt: number | undefined;
  /** The second that is being filled. */
  #second = { startedAt: 0, bytes: 0 };
  #least = Number.POSITIVE_INFINITY;
  #most = 0;
  /** The media time that the leading track has reached, in seconds, and what it was at the last measurement. */
  #reachedS = Number.NEGATIVE_INFINITY;
  #measuredS = Number.NEGATIVE_INFINITY;
  /** The smallest distance of the clock from the media, in seconds. */
  #bestS = Number.POSITIVE_INFINITY;

  /**
   * Takes a packet.
   * @param packet.leadS the packet's time in seconds of media, when it is of the track that leads; its packets are the frames
   */
  add({ sizeBytes, leadS }: { readonly sizeBytes: number; readonly leadS: number | undefined }, now: number): void {
    this.#begin(now);
    this.#endSeconds(now);
    this.#bytes += sizeBytes;
    this.#second.bytes += sizeBytes;
    if (leadS === undefined) return;
    this.#frames += 1;
    if (this.#frameAt !== undefined) this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#frameAt);
    this.#frameAt = now;
    if (this.#reachedS === Number.NEGATIVE_INFINITY) this.#measuredS = leadS;
    this.#reachedS = Math.max(this.#reachedS, leadS);
    this.#bestS = Math.min(this.#bestS, now / SECOND_MS - this.#reachedS);
  }

  /** Forgets the relation of media and clock, because the next media begins anew. */
  restart(): void {
    this.#frameAt = undefined;
    this.#reachedS = Number.NEGATIVE_INFINITY;
    this.#bestS = Number.POSITIVE_INFINITY;
  }

  /** Measures everything since the last measurement. Undefined before the first packet. */
  take(now: number): Arrival | undefined {
    if (this.#since === undefined || now <= this.#since) return undefined;
    this.#endSeconds(now);
    const durationMs = now - this.#since;
    const mean = (this.#bytes * 8 * SECOND_MS) / durationMs;
    const isFollowed = this.#reachedS > Number.NEGATIVE_INFINITY;
    const arrival: Arrival = {
      durationMs,
      bitrateBps: { min: Math.min(this.#least, mean), mean, max: Math.max(this.#most, mean) },
      framesPerSecond: (this.#frames * SECOND_MS) / durationMs,
      longestGapS: Math.max(this.#longestGapMs, this.#frameAt === undefined ? 0 : now - this.#frameAt) / SECOND_MS,
      speed: isFollowed ? ((this.#reachedS - this.#measuredS) * SECOND_MS) / durationMs : 0,
      driftS: isFollowed ? Math.max(0, now / SECOND_MS - this.#reachedS - this.#bestS) : 0,
    };
    this.#since = now;
    this.#bytes = 0;
    this.#frames = 0;
    this.#longestGapMs = 0;
    this.#least = Number.POSITIVE_INFINITY;
    this.#most = 0;
    this.#measuredS = this.#reachedS;
    return arrival;
  }

  #begin(now: number): void {
    if (this.#since !== undefined) return;
    this.#since = now;
    this.#second = { startedAt: now, bytes: 0 };
  }

  /** Closes the seconds that are over. Those without any packet count as empty. */
  #endSeconds(now: number): void {
    const over = Math.floor((now - this.#second.startedAt) / SECOND_MS);
    if (over <= 0) return;
    const first = this.#second.bytes * 8;
    this.#least = Math.min(this.#least, over > 1 ? 0 : first);
    this.#most = Math.max(this.#most, first);
    this.#second = { startedAt: this.#second.startedAt + over * SECOND_MS, bytes: 0 };
  }
}
