/**
 * Measures how media arrives: how much in each second, how evenly, and how fast compared with the clock. It reads no clock: times are given
 * with the packets.
 */

/** How media arrived since the last measurement. */
export interface Arrival {
  /** The time since the last measurement, by the clock. */
  readonly durationMs: number;
  /** Bits per second: in the second in which the least arrived, over the whole time, and in the second in which the most arrived. */
  readonly bitrateBps: { readonly min: number; readonly mean: number; readonly max: number };
  /** Packets of the leading track in each second. */
  readonly framesPerSecond: number;
  /** The longest time between two packets of the leading track, by the clock. */
  readonly longestGapS: number;
  /** Seconds of media that arrived in each second by the clock. 1 is real time. */
  readonly speed: number;
  /** How far the media has fallen behind the clock since it was furthest ahead of it, in seconds. */
  readonly driftS: number;
}

const SECOND_MS = 1000;

/** The meter of one session's source. Times by the clock are those of a monotonic clock, in milliseconds. */
export class ArrivalMeter {
  #since: number | undefined;
  #bytes = 0;
  #frames = 0;
  #longestGapMs = 0;
  /** When the newest frame arrived. Undefined before the first one of a publisher. */
  #frameAt: number | undefined;
  /** The current second, and how much has arrived in it. */
  #second = { startedAt: 0, bytes: 0 };
  /** The bits that arrived in the second with the least, and in the one with the most, since the last measurement. */
  #least = Number.POSITIVE_INFINITY;
  #most = 0;
  /** The newest media time of the leading track, in seconds, and what it was at the last measurement. */
  #reachedS = Number.NEGATIVE_INFINITY;
  #measuredS = Number.NEGATIVE_INFINITY;
  /** The smallest difference between the clock and the media time so far, in seconds. */
  #bestS = Number.POSITIVE_INFINITY;

  /**
   * Takes a packet.
   * @param packet.leadS the media time of the packet in seconds, if it is of the leading track, whose packets count as frames
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

  /**
   * Forgets how media time relates to the clock. Called when the next media begins at another time: after a jump, or with a new publisher.
   */
  restart(): void {
    this.#frameAt = undefined;
    this.#reachedS = Number.NEGATIVE_INFINITY;
    this.#bestS = Number.POSITIVE_INFINITY;
  }

  /** Measures everything since the last measurement, and begins the next one. Undefined before the first packet. */
  take(now: number): Arrival | undefined {
    if (this.#since === undefined || now <= this.#since) return undefined;
    this.#endSeconds(now);
    const durationMs = now - this.#since;
    const mean = (this.#bytes * 8 * SECOND_MS) / durationMs;
    const hasMediaTime = this.#reachedS > Number.NEGATIVE_INFINITY;
    const arrival: Arrival = {
      durationMs,
      bitrateBps: { min: Math.min(this.#least, mean), mean, max: Math.max(this.#most, mean) },
      framesPerSecond: (this.#frames * SECOND_MS) / durationMs,
      longestGapS: Math.max(this.#longestGapMs, this.#frameAt === undefined ? 0 : now - this.#frameAt) / SECOND_MS,
      speed: hasMediaTime ? ((this.#reachedS - this.#measuredS) * SECOND_MS) / durationMs : 0,
      driftS: hasMediaTime ? Math.max(0, now / SECOND_MS - this.#reachedS - this.#bestS) : 0,
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

  /** Closes the seconds that are over. Seconds without a packet count as empty. */
  #endSeconds(now: number): void {
    const over = Math.floor((now - this.#second.startedAt) / SECOND_MS);
    if (over <= 0) return;
    const first = this.#second.bytes * 8;
    this.#least = Math.min(this.#least, over > 1 ? 0 : first);
    this.#most = Math.max(this.#most, first);
    this.#second = { startedAt: this.#second.startedAt + over * SECOND_MS, bytes: 0 };
  }
}
