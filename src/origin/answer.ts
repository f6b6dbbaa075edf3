/**
 * Writes answers to viewers: straight to the connection, from shared bytes, with every header in one place.
 *
 * Fastify's own sending is left out on this path: server CPU per 1 MB segment in 12 pieces is 0.2 ms this way, 0.25 to 0.4 ms
 * through a Readable of the pieces and 0.5 to 0.7 ms joined; per playlist 10 against 13 us. A thousand viewers wake at the same
 * moment, once a part, and what each of them costs then is what the last one waits.
 */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { writeBody } from './viewer-connection.ts';

/** Any page may play what is public by its id, and may read what a player wants to know of an answer. */
export const OPEN_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Age, Content-Length, Content-Range, Date, ETag, Retry-After',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
};

/**
 * Sends a whole answer. The reply is Fastify's no more.
 * @param pieces the body, in order; sent as they are, never copied. Left out for HEAD.
 */
export function sendAnswer(
  reply: FastifyReply,
  status: number,
  headers: OutgoingHttpHeaders,
  pieces: readonly Uint8Array[],
): FastifyReply {
  const response = reply.hijack().raw;
  response.writeHead(status, { ...OPEN_HEADERS, ...headers });
  writeBody(response, reply.request.method === 'HEAD' ? [] : pieces);
  return reply;
}

/** Answers a preflight: everything there is may be fetched, and a browser need not ask again for a day. */
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
