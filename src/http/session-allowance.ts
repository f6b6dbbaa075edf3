/**
 * The rule for how much a client may send on one HTTP/2 connection before it counts as a flood.
 */
import { BODY_LIMIT_BYTES } from './error-reply.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

/** Bytes that belong to no request, such as settings, pings and window updates: the most at once, and the most per second. */
const BYTES_WITHOUT_REQUEST = 65_536;
const BYTES_WITHOUT_REQUEST_PER_S = 65_536;
/**
 * How many more requests may be cancelled before their answer than are answered. Of the answered ones at most as many count as may be
 * concurrent, because the viewers of a proxy may all leave at once.
 */
const MAX_CANCELLED = 8;
/** The same limit for a host that flooded recently: enough for a player that switches variants. */
const MAX_CANCELLED_OF_FLOODER = 2;

/** The allowance of one connection. */
export class SessionAllowance {
  #cancelled = 0;
  /** Bytes that may still arrive before they count as a flood. */
  #bytes = BYTES_WITHOUT_REQUEST;
  #readBytes = 0;

  /** Counts a request that has begun. It allows for as many bytes as a request may have. */
  begun({ hasBody }: { readonly hasBody: boolean }): void {
    this.#bytes += MAX_HEADER_BYTES + (hasBody ? BODY_LIMIT_BYTES : 0);
  }

  /**
   * Counts a request that has ended.
   * @param ended.isAnswered whether its answer had begun
   * @param ended.isFlooder whether its host flooded recently
   * @returns whether the connection has cancelled too many requests
   */
  ended({ isAnswered, isFlooder }: { readonly isAnswered: boolean; readonly isFlooder: boolean }): boolean {
    this.#cancelled = Math.max(-MAX_STREAMS, this.#cancelled + (isAnswered ? -1 : 1));
    return this.#cancelled > (isFlooder ? MAX_CANCELLED_OF_FLOODER : MAX_CANCELLED);
  }

  /**
   * Accounts for the bytes that were read since the last call.
   * @param readBytes all bytes read from the connection so far
   * @param seconds since the last call
   * @returns whether more bytes have arrived than are allowed
   */
  read(readBytes: number, seconds: number): boolean {
    this.#bytes += this.#readBytes - readBytes + BYTES_WITHOUT_REQUEST_PER_S * seconds;
    this.#readBytes = readBytes;
    if (this.#bytes < 0) return true;
    this.#bytes = Math.min(this.#bytes, BYTES_WITHOUT_REQUEST);
    return false;
  }
}
