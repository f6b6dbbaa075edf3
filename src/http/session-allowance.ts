/**
 * How much a client may send on one HTTP/2 connection before it counts as a flood, as a rule without input or output.
 */
import { BODY_LIMIT_BYTES } from './error-reply.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

/** Bytes that no request explains: so many at once, and so many a second. They are settings, pings and window updates. */
const UNEXPLAINED_BYTES = 65_536;
const UNEXPLAINED_BYTES_PER_S = 65_536;
/**
 * Requests that may have been taken back before they were answered, less those that were answered, of which at most as many count as may
 * be under way: viewers of a proxy may all leave at once.
 */
const MAX_TAKEN_BACK = 8;
/** The same where the host flooded lately: enough for a player that switches. */
const MAX_TAKEN_BACK_OF_FLOODER = 2;

/** The allowance of one connection. */
export class SessionAllowance {
  #takenBack = 0;
  /** Bytes that may still come without being a flood. */
  #bytes = UNEXPLAINED_BYTES;
  #readBytes = 0;

  /** A request has begun, which explains as many bytes as a request may have. */
  begun({ hasBody }: { readonly hasBody: boolean }): void {
    this.#bytes += MAX_HEADER_BYTES + (hasBody ? BODY_LIMIT_BYTES : 0);
  }

  /**
   * A request has ended.
   * @param ended.isAnswered its answer had begun
   * @param ended.isFlooder its host flooded lately
   * @returns whether the connection has taken back too many
   */
  ended({ isAnswered, isFlooder }: { readonly isAnswered: boolean; readonly isFlooder: boolean }): boolean {
    this.#takenBack = Math.max(-MAX_STREAMS, this.#takenBack + (isAnswered ? -1 : 1));
    return this.#takenBack > (isFlooder ? MAX_TAKEN_BACK_OF_FLOODER : MAX_TAKEN_BACK);
  }

  /**
   * Some time has passed.
   * @param readBytes all that has been read from the connection
   * @param seconds since the last call
   * @returns whether more has come than is explained
   */
  read(readBytes: number, seconds: number): boolean {
    this.#bytes += this.#readBytes - readBytes + UNEXPLAINED_BYTES_PER_S * seconds;
    this.#readBytes = readBytes;
    if (this.#bytes < 0) return true;
    this.#bytes = Math.min(this.#bytes, UNEXPLAINED_BYTES);
    return false;
  }
}
