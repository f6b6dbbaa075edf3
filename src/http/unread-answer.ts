/**
 * Disconnects clients that do not read an answer, because an unread answer stays in memory. Over HTTP/2 an answer is one of many streams of
 * a connection, so only its stream is closed.
 */
import type { ServerResponse } from 'node:http';
import { streamOf } from '#lib/request-connection.ts';

/** A client that reads nothing for this long is disconnected. */
const STUCK_AFTER_MS = 30_000;

/** The error code with which a stream that nobody reads is closed (RFC 9113 §7). */
const CANCEL = 8;

/**
 * Disconnects a client that reads nothing of an answer for too long. An answer that is read while it is sent may take as long as it likes.
 * @returns a function that disconnects the client at once
 */
export function cutOffIdle(response: ServerResponse): () => void {
  const stream = streamOf(response);
  const cutOff = () => (stream === undefined ? void response.destroy() : stream.close(CANCEL));
  if (stream === undefined) response.socket?.setTimeout(STUCK_AFTER_MS);
  else stream.setTimeout(STUCK_AFTER_MS, cutOff);
  return cutOff;
}
