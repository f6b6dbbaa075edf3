/**
 * Limits the bitrate of a publisher, averaged over some seconds. Pure: each call brings the time with it.
 */

/**
 * How many seconds of media at the full bitrate may come at once. A keyframe is many times larger than the frames after it, and an
 * encoder whose network was slow sends everything it has queued as soon as it can.
 */
const BURST_S = 10;

/** What one publisher may send: a token bucket that is full at first. */
export class IngestAllowance {
  /** How many bytes of the burst are used. */
  #usedBytes = 0;
  #atMs: number;

  /** @param nowMs monotonic time */
  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /**
   * Counts bytes that came in, and says whether they were within the limit.
   * @param limitKbps in kbit/s; 0 = any bitrate. It may differ from call to call.
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
