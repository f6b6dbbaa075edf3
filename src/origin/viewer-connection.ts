/**
 * Sends an answer's bytes over the connection below Node's response, of which there are three kinds.
 *
 * Fastify and Node give HTTP/2 the interface of HTTP/1.1, except for what this file handles: over HTTP/2 an answer is one of many streams
 * of a connection, so settings of the connection would affect all of them.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { cutOffIdle } from '#http/unread-answer.ts';
import { streamOf } from '#lib/request-connection.ts';

/**
 * The longest time for a complete answer, which is the longest that players wait for a segment (hls.js). A client that reads a byte now and
 * then is never stuck, and many such clients would keep old segments in memory, outside the budget for media.
 */
const LONGEST_ANSWER_MS = 120_000;

/**
 * The number of bytes passed to TLS or HTTP/2 at once. TLS encrypts everything it gets into memory of the connection, so a whole segment
 * would be copied for each slow viewer. What HTTP/2 holds counts against the connection.
 */
const SLICE_BYTES = 65_536;

/** Called with a number of bytes of a body once they are sent. */
export type OnSent = (sizeBytes: number) => void;

/** Whether the viewer has left. */
export function hasLeft(response: ServerResponse): boolean {
  return (streamOf(response) ?? response).destroyed;
}

/** The connection on which answers are sent one after another, with HTTP/1.1. HTTP/2 limits its streams by itself. */
export const pipelineOf = (response: ServerResponse): Socket | undefined =>
  streamOf(response) === undefined ? response.req.socket : undefined;

/**
 * Writes a body and ends the response.
 * @param pieces the body in order, copied only by encryption
 * @param onSent called with a number of bytes when they were sent: after each slice, or at the end of a body that is not sliced. Not
 *   called for a body that is not sliced and breaks off
 */
export function writeBody(response: ServerResponse, pieces: readonly Uint8Array[], onSent?: OnSent): void {
  const stream = streamOf(response);
  const isEncrypted = stream !== undefined || (response.socket as Partial<TLSSocket> | null)?.encrypted === true;
  if (isEncrypted && (pieces.length > 1 || (pieces[0]?.length ?? 0) > SLICE_BYTES)) {
    writeInTurn(response, slicesOf(pieces), onSent);
  } else {
    // The response of HTTP/2 also says that it is finished when the viewer has left. Its stream does not.
    if (onSent !== undefined && pieces.length > 0) (stream ?? response).once('finish', () => onSent(sizeOf(pieces)));
    for (const piece of pieces.slice(0, -1)) response.write(piece);
    response.end(pieces.at(-1)); // this saves one write, a tenth of a playlist's cost
  }
  if (stream !== undefined || response.writableLength > 0) cutOffWhenStuck(response);
}

/**
 * Disconnects a viewer who reads nothing of an answer for too long, or takes too long for all of it. Call it only for an answer that has
 * begun and is not finished. After its end Node sets its keep-alive timeout instead.
 */
export function cutOffWhenStuck(response: ServerResponse): void {
  const cutOff = cutOffIdle(response);
  const overdue = setTimeout(cutOff, LONGEST_ANSWER_MS).unref();
  response.once('close', () => clearTimeout(overdue));
}

/** Writes the next slice when the previous one was sent. Nothing is written after a viewer has left. */
function writeInTurn(response: ServerResponse, slices: Iterator<Uint8Array>, onSent?: OnSent): void {
  for (let slice = slices.next(); ; slice = slices.next()) {
    if (slice.done) {
      response.end();
      return;
    }
    if (!writeSlice(response, slice.value, onSent)) break;
  }
  response.once('drain', () => writeInTurn(response, slices, onSent));
}

/**
 * Writes a part of a body.
 * @param onSent called with the size of the part once it is sent
 * @returns false when the next part must wait for `drain`
 */
export function writeSlice(response: ServerResponse, slice: Uint8Array, onSent?: OnSent): boolean {
  if (onSent === undefined) return response.write(slice);
  // When a viewer has left, this is called for slices that were not sent, too, without an error.
  return response.write(slice, (error) => {
    if (!error && !hasLeft(response)) onSent(slice.length);
  });
}

const sizeOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

function* slicesOf(pieces: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += SLICE_BYTES) yield piece.subarray(from, from + SLICE_BYTES);
  }
}
