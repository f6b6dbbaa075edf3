/**
 * The memory of the messages of one connection. A message has been handled before the next one is read, so its memory is used again.
 */

/** The largest buffer that is kept: above the keyframes of usual streams. */
const MAX_KEPT_BYTES = 512 * 1024;
/** The number of buffers that are kept. Messages may be interleaved, and encoders interleave audio and video. */
const MAX_KEPT = 2;
const LEAST_BYTES = 1024;

/** Lends buffers for payloads. */
export class PayloadMemory {
  readonly #kept: ArrayBufferLike[] = [];

  /** Lends memory for one payload, with any content. */
  take(sizeBytes: number): Buffer {
    const kept = this.#kept.pop();
    if (kept !== undefined && kept.byteLength >= sizeBytes) return Buffer.from(kept, 0, sizeBytes);
    return Buffer.allocUnsafeSlow(roomFor(sizeBytes)).subarray(0, sizeBytes);
  }

  /** Takes back the memory of a payload that nobody reads any more. */
  giveBack({ buffer }: Buffer): void {
    if (this.#kept.length < MAX_KEPT && buffer.byteLength <= MAX_KEPT_BYTES) this.#kept.push(buffer);
  }
}

/** The size of a buffer that later messages probably fit in, too. */
function roomFor(sizeBytes: number): number {
  if (sizeBytes > MAX_KEPT_BYTES) return sizeBytes;
  return Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(sizeBytes)));
}
