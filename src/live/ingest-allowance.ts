/**
 * How many bytes of media a publisher may send: a bitrate, averaged over some seconds. Pure: time comes in with the bytes.
 */

/**
 * Seconds of media at the full bitrate that may come at once. A keyframe is many times larger than the frames after it, and an encoder
 * that was held up by its network sends all it has kept as soon as it can.
 */
const BURST_S = 10;

/** The allowance of one publisher: a token bucket that is full at first. */
export class IngestAllowance {
  /** Bytes used of the burst. */
  #usedBytes = 0;
  #atMs: number;

  /** @param nowMs monotonic time */
  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /**
   * Counts bytes that came in; says whether they were still allowed.
   * @param limitKbps in kbit/s; 0 = any bitrate. It may be another at each call.
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
