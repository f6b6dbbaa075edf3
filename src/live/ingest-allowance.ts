/**
 * Limits the bitrate of a publisher, averaged over some seconds. Pure: the time is passed in.
 */

/**
 * The number of seconds of media at the full bitrate that may come at once. A keyframe is many times larger than the frames after it, and
 * an encoder whose network was slow sends everything it has queued as soon as it can.
 */
const BURST_S = 10;

/** The allowance of one publisher: a token bucket that is full at first. */
export class IngestAllowance {
  /** The number of bytes of the burst that are used. */
  #usedBytes = 0;
  #atMs: number;

  /** @param nowMs monotonic time */
  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /**
   * Counts received bytes, and returns whether they were within the limit.
   * @param limitKbps in kbit/s; 0 means no limit. It may differ from call to call.
   * @param nowMs monotonic time
   */
  use(sizeBytes: number, { limitKbps, nowMs }: { readonly limitKbps: number; readonly nowMs: number }): boolean {
    const bytesPerMs = limitKbps / 8;
    this.#usedBytes = Math.max(0, this.#usedBytes - (nowMs - this.#atMs) * bytesPerMs);
    this.#atMs = nowMs;
    if (limitKbps === 0) return true;
    this.#usedBytes += sizeBytes;
    return this.#usedBytes <= BURST_S * 1000 * bytesPerMs;
  }
}
