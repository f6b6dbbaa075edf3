/**
 * The server's side of the handshake (Adobe RTMP 1.0 §5.2).
 *
 * Clients that open with the undocumented digest ("complex") handshake fall back to this one when the server's version
 * field is zero: librtmp, FFmpeg and Flash all look at it before they look for a digest.
 */
import { randomBytes } from 'node:crypto';
import { RtmpError } from './rtmp-error.ts';

/** Bytes of C1, C2, S1 and S2. */
export const HANDSHAKE_BYTES = 1536;
const VERSION = 3;
/** The time and the version, which precede the random bytes. */
const PREFIX_BYTES = 8;

/** The server's side of one handshake. Takes bytes in slices of any size. */
export class ServerHandshake {
  /** C0 and C1. */
  readonly #opening = Buffer.alloc(1 + HANDSHAKE_BYTES);
  #received = 0;

  /** Whether the peer has sent its whole part of the handshake. The bytes after it are chunks. */
  get isDone(): boolean {
    return this.#received === 1 + 2 * HANDSHAKE_BYTES;
  }

  /**
   * Takes the bytes of a slice that belong to the handshake.
   * @returns the number of these bytes, and the reply to send, if there is one
   * @throws {RtmpError} when the first byte shows that this is not RTMP: HTTP, TLS, an encrypted variant
   */
  feed(slice: Buffer): { readonly used: number; readonly reply: Buffer | undefined } {
    const before = this.#received;
    const used = Math.min(slice.length, 1 + 2 * HANDSHAKE_BYTES - before);
    if (before < this.#opening.length) slice.copy(this.#opening, before);
    this.#received += used;
    if (this.#received > 0 && this.#opening[0] !== VERSION) {
      throw new RtmpError('handshake_invalid', `the first byte is ${this.#opening[0]}, not RTMP's version 3`);
    }
    // C2 only echoes S1, and some encoders send it as zeros: nothing to check.
    const isOpened = before < this.#opening.length && this.#received >= this.#opening.length;
    return { used, reply: isOpened ? this.#reply() : undefined };
  }

  /** S0, S1 (time and version zero) and S2, the echo of C1. */
  #reply(): Buffer {
    return Buffer.concat([
      Buffer.of(VERSION),
      Buffer.alloc(PREFIX_BYTES),
      randomBytes(HANDSHAKE_BYTES - PREFIX_BYTES),
      this.#opening.subarray(1),
    ]);
  }
}
