/**
 * Reads JSON request bodies, and refuses every other type with 415.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyInstance } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { streamOf } from '#lib/request-connection.ts';

/** The type that is given to a body with neither type nor length. No client declares it. */
const UNTYPED = 'application/x-untyped';

/**
 * Parses `application/json` strictly. Bytes that are not UTF-8 are refused, since decoding would replace them and the
 * text could not be echoed as it was sent. A `__proto__` key stays an ordinary key here, and is refused as an unknown
 * one: every body schema closes its objects with `additionalProperties: false`. An empty body is the same as none, because many clients
 * declare a content type with every request.
 */
export function acceptOnlyJson(http: FastifyInstance): void {
  http.removeAllContentTypeParsers();
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    if (body.length === 0) {
      done(null);
      return;
    }
    if (!isUtf8(body)) {
      done(new MillraceError('malformed_json', 'The body is not valid UTF-8; encode the JSON as UTF-8.'));
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(body.toString());
    } catch {
      // The parser's own message quotes the body, which may hold a secret.
      done(new MillraceError('malformed_json', 'The body is not valid JSON; send a JSON object.'));
      return;
    }
    done(null, value);
  });
  // Over HTTP/2, a client may announce a body and then send none.
  http.addContentTypeParser(UNTYPED, { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    done(body.length === 0 ? null : new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE());
  });
}

/**
 * Removes the content type of a request without a body, because with it Fastify would wait for the end of a body that never comes. Gives
 * {@link UNTYPED} to a body with neither type nor length, because Fastify would ignore this body over HTTP/2.
 */
export function settleBodyType(request: IncomingMessage): void {
  const { headers } = request;
  if (!hasBody(request)) delete headers['content-type'];
  else if (headers['content-length'] === undefined) headers['content-type'] ??= UNTYPED;
}

/** Whether a request announces a body. Over HTTP/2 a body needs no header, because the end of the stream follows it. */
function hasBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === '0') return false;
  const stream = streamOf(request);
  return stream === undefined ? length !== undefined || encoding !== undefined : !stream.endAfterHeaders;
}
