/**
 * How an answer's bytes get to a viewer: the connection below Node's response, of which there are three kinds.
 *
 * Fastify and Node give HTTP/2 the face of HTTP/1.1 but for what is here: an answer there is one of many streams on a
 * connection, so what is set on the connection itself would meet all of them.
 */
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** A viewer that takes none of its bytes for so long is cut off; it would pin media that has left the window. */
const STUCK_AFTER_MS = 30_000;
/**
 * A whole answer may take this long, which is what the most patient players wait for a segment (hls.js). Who takes a byte now and then
 * is never stuck, and a crowd of them would keep every segment of an evening in memory, outside the budget for media.
 */
const LONGEST_ANSWER_MS = 120_000;

/**
 * What is handed to TLS or HTTP/2 at once. TLS encrypts all it is given into memory of the connection's own, so a segment given
 * as a whole would be copied for each viewer who is slow to take it; and what HTTP/2 holds counts against the connection.
 */
const SLICE_BYTES = 65_536;

/** RFC 9113 §7: what a stream is closed with that nobody takes. */
const CANCEL = 8;

/** Whether the viewer has left. */
export function hasLeft(response: ServerResponse): boolean {
  return (streamOf(response) ?? response).destroyed;
}

/** The connection on which answers go out one behind the other: that of HTTP/1.1. HTTP/2 bounds its streams by itself. */
export const pipelineOf = (response: ServerResponse): Socket | undefined =>
  streamOf(response) === undefined ? response.req.socket : undefined;

/**
 * Writes a body and ends the response.
 * @param pieces in order; sent as they are, never copied but by encryption
 */
export function writeBody(response: ServerResponse, pieces: readonly Uint8Array[]): void {
  const stream = streamOf(response);
  const isEncrypted = stream !== undefined || (response.socket as Partial<TLSSocket> | null)?.encrypted === true;
  if (isEncrypted && (pieces.length > 1 || (pieces[0]?.length ?? 0) > SLICE_BYTES)) {
    writeInTurn(response, slicesOf(pieces));
  } else {
    for (const piece of pieces.slice(0, -1)) response.write(piece);
    response.end(pieces.at(-1)); // one write less: that is a tenth of a playlist's cost
  }
  if (stream !== undefined || response.writableLength > 0) cutOffWhenStuck(response);
}

/**
 * Cuts off a viewer who takes nothing of an answer for too long, or takes too long for all of it. Only for one that has begun and is
 * not finished: once it is, Node sets its keep-alive time-out instead.
 */
export function cutOffWhenStuck(response: ServerResponse): void {
  const stream = streamOf(response);
  const cutOff = () => (stream === undefined ? response.destroy() : stream.close(CANCEL));
  if (stream === undefined) response.socket?.setTimeout(STUCK_AFTER_MS);
  else stream.setTimeout(STUCK_AFTER_MS, cutOff);
  const overdue = setTimeout(cutOff, LONGEST_ANSWER_MS).unref();
  response.once('close', () => clearTimeout(overdue));
}

/** Writes the next slice when the one before is on its way. A viewer who leaves asks for no more. */
function writeInTurn(response: ServerResponse, slices: Iterator<Uint8Array>): void {
  for (let slice = slices.next(); ; slice = slices.next()) {
    if (slice.done) {
      response.end();
      return;
    }
    if (!response.write(slice.value)) break;
  }
  response.once('drain', () => writeInTurn(response, slices));
}

function* slicesOf(pieces: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += SLICE_BYTES) yield piece.subarray(from, from + SLICE_BYTES);
  }
}

/** The stream of an answer over HTTP/2. */
function streamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return (response as ServerResponse & Partial<Pick<Http2ServerResponse, 'stream'>>).stream;
}
