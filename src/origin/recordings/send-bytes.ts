/**
 * Sends bytes while they are being read, in pieces and only as fast as the viewer takes them. So the memory of an answer does not depend on
 * the size of the file.
 */
import { once } from 'node:events';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { hasAlready } from '#http/entity-tag.ts';
import { cutOffIdle } from '#http/unread-answer.ts';
import { OPEN_HEADERS, sendAnswer } from '#origin/answer.ts';
import { parseRange } from '#origin/byte-range.ts';
import { type OnSent, writeSlice } from '#origin/viewer-connection.ts';
import type { ByteSource } from '#recording/recording.ts';

/** The most bytes that are written to a connection at once. */
const SLICE_BYTES = 65_536;

/**
 * The header in which a node tells another node the milliseconds of media for each byte of a segment, because the node that a viewer asks
 * counts what the viewer gets.
 */
export const MS_PER_BYTE_HEADER = 'x-millrace-ms-per-byte';

/** The headers with which a file is sent. */
export interface FileHeaders {
  readonly contentType: string;
  readonly cacheControl: string;
  /** A strong entity tag, with its quotation marks. */
  readonly etag: string;
  /** The value of `Content-Disposition`. Undefined: the header is left out. */
  readonly disposition?: string | undefined;
  /** The value of {@link MS_PER_BYTE_HEADER}. When undefined, the header is left out. */
  readonly msPerByte?: number | undefined;
}

/**
 * Sends the whole file, the requested range of it, or 304 when the viewer has it already.
 * @param signal when it aborts, the connection is closed in the middle of the answer
 * @throws {MillraceError} `range_not_satisfiable`, and the errors of reading the first bytes; nothing is sent then
 */
export async function sendFile(
  reply: FastifyReply,
  source: ByteSource,
  { contentType, cacheControl, etag, disposition, msPerByte }: FileHeaders,
  signal: AbortSignal,
  onSent?: OnSent,
): Promise<FastifyReply> {
  const { method, headers: asked } = reply.request;
  const validity = { 'cache-control': cacheControl, etag };
  if (hasAlready(asked['if-none-match'], etag)) return sendAnswer(reply, 304, validity, []);
  const { sizeBytes } = source;
  const headers: OutgoingHttpHeaders = {
    ...validity,
    'content-type': contentType,
    'content-length': sizeBytes,
    'accept-ranges': 'bytes',
    ...(disposition === undefined ? {} : { 'content-disposition': disposition }),
    ...(msPerByte === undefined ? {} : { [MS_PER_BYTE_HEADER]: msPerByte }),
  };
  if (method === 'HEAD') return sendAnswer(reply, 200, headers, []);
  // If-Range has a strong tag or a date (RFC 9110 §13.1.5). No answer of this server states a date.
  const isSame = asked['if-range'] === undefined || asked['if-range'] === etag;
  const range = isSame ? parseRange(asked.range, sizeBytes) : ({ type: 'whole' } as const);
  if (range.type === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${sizeBytes}`);
    throw new MillraceError(
      'range_not_satisfiable',
      `The range begins after the end of the resource, which has ${sizeBytes} bytes; request less.`,
    );
  }
  if (range.type === 'whole') {
    return await sendStream(reply, 200, headers, source.read(0, sizeBytes, signal), signal, onSent);
  }
  const { first, last } = range;
  const partHeaders = {
    ...headers,
    'content-length': last - first + 1,
    'content-range': `bytes ${first}-${last}/${sizeBytes}`,
  };
  return await sendStream(reply, 206, partHeaders, source.read(first, last + 1, signal), signal, onSent);
}

/**
 * Sends an answer while its body is being read. When reading fails or the signal aborts, the connection is closed, so that the viewer notices
 * that the answer is not complete. Nothing is sent before the first bytes are read, so that an error of reading them can be the answer.
 * @throws the errors of reading the first bytes
 */
export async function sendStream(
  reply: FastifyReply,
  status: number,
  headers: OutgoingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  onSent?: OnSent,
): Promise<FastifyReply> {
  const pieces = body[Symbol.asyncIterator]();
  let next = await pieces.next();
  const response = reply.hijack().raw;
  response.writeHead(status, { ...OPEN_HEADERS, ...headers });
  cutOffIdle(response);
  try {
    for (; !next.done; next = await pieces.next()) await write(response, next.value, signal, onSent);
    response.end();
  } catch {
    response.destroy();
  } finally {
    await pieces.return?.();
  }
  return reply;
}

/** Writes a piece, and waits until the connection takes more. */
async function write(
  response: ServerResponse,
  piece: Uint8Array,
  signal: AbortSignal,
  onSent: OnSent | undefined,
): Promise<void> {
  for (let from = 0; from < piece.length; from += SLICE_BYTES) {
    signal.throwIfAborted();
    const slice = piece.subarray(from, from + SLICE_BYTES);
    if (!writeSlice(response, slice, onSent)) await once(response, 'drain', { signal });
  }
}
