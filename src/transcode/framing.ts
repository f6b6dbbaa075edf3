/**
 * Frames on a byte stream: 32 bits of payload length, 8 bits of type, payload. Big-endian.
 */

/** The largest accepted payload: far above any access unit that an H.264 level allows at a live bitrate. */
export const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

const HEADER_BYTES = 5;

/** A frame that was read. */
export interface StreamFrame {
  readonly type: number;
  readonly payload: Buffer;
}

/** The other side broke the protocol, so the connection cannot be used any more. */
export class FramingError extends Error {
  readonly code = 'worker_protocol_broken';

  constructor(message: string) {
    super(message);
    this.name = 'FramingError';
  }
}

/** Makes the header of a payload with this many bytes. */
export function frameHeader(type: number, payloadBytes: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32BE(payloadBytes, 0);
  header[4] = type;
  return header;
}

/**
 * Splits a byte stream into frames. What it holds is bounded by {@link MAX_PAYLOAD_BYTES}, and memory is not allocated before the bytes
 * arrive.
 */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** The number of bytes needed for the next step: a header, or a header and its payload. */
  #needed = HEADER_BYTES;

  /**
   * Takes the next bytes and yields every frame that they complete, in order. Payloads may be views of `chunk`.
   * @throws {FramingError} at a length beyond the limit, after yielding the frames before it
   */
  *push(chunk: Buffer): Generator<StreamFrame, void, undefined> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return;
    let buffer = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    while (buffer.length >= HEADER_BYTES) {
      const payloadBytes = buffer.readUInt32BE(0);
      if (payloadBytes > MAX_PAYLOAD_BYTES) {
        throw new FramingError(`A frame states ${payloadBytes} bytes; at most ${MAX_PAYLOAD_BYTES} are taken.`);
      }
      const end = HEADER_BYTES + payloadBytes;
      this.#needed = end;
      if (buffer.length < end) break;
      yield { type: buffer[4]!, payload: buffer.subarray(HEADER_BYTES, end) };
      buffer = buffer.subarray(end);
      this.#needed = HEADER_BYTES;
    }
    this.#bytes = buffer.length;
    if (buffer.length > 0) this.#chunks.push(buffer);
  }
}
