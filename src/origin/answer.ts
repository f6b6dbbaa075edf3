/**
 * Writes answers to viewers directly to the connection, from shared bytes, and sets all their headers.
 *
 * Fastify's own sending is not used on this path. The server's CPU time for a 1 MB segment in 12 pieces is 0.2 ms this way, 0.25 to 0.4 ms
 * through a Readable of the pieces and 0.5 to 0.7 ms if they are joined. For a playlist it is 10 µs instead of 13 µs. A thousand viewers
 * wake at the same moment, once per part, so the cost of each delays the last one.
 */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { type OnSent, writeBody } from './viewer-connection.ts';

/** Lets any page play public streams, and read the headers that a player needs. */
export const OPEN_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Age, Content-Length, Content-Range, Date, ETag, Retry-After',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
};

/**
 * Sends a complete answer. From then on the reply no longer belongs to Fastify.
 * @param pieces the body, in order, sent without copying; not sent for HEAD
 * @param onSent see {@link writeBody}
 */
export function sendAnswer(
  reply: FastifyReply,
  status: number,
  headers: OutgoingHttpHeaders,
  pieces: readonly Uint8Array[],
  onSent?: OnSent,
): FastifyReply {
  const response = reply.hijack().raw;
  response.writeHead(status, { ...OPEN_HEADERS, ...headers });
  writeBody(response, reply.request.method === 'HEAD' ? [] : pieces, onSent);
  return reply;
}

/** Answers a preflight request: every URL may be fetched, and a browser need not ask again for a day. */
export function sendPreflight(reply: FastifyReply): FastifyReply {
  return sendAnswer(
    reply,
    204,
    {
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': '*',
      'access-control-max-age': '86400',
      'cache-control': 'max-age=86400',
    },
    [],
  );
}
