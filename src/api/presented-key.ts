/**
 * Reads the API key that a request presents: `authorization: Bearer <API key>`.
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { Secret } from '#domain/secret.ts';
import { connectionOf } from '#lib/request-connection.ts';

const SCHEME = /^ *bearer +/i;
const ASCII = /^[ -~]*$/;
/** Longer headers are not remembered. Keys and tokens are much shorter. */
const LONGEST_REMEMBERED = 256;

/**
 * Reads the API key that a request presents, without checking it.
 * @throws {MillraceError} `unauthenticated` when the request presents none
 */
export function presentedKey({ headers }: Pick<FastifyRequest, 'headers'>): Secret {
  return keyIn(headers.authorization ?? '');
}

/**
 * Reads the API keys that requests present. A client presents the same key with each request of a connection, so the last key of each
 * connection is remembered with its hash, which takes longer to compute than most other checks of a request.
 */
export class PresentedKeys {
  /** The last header of each connection and its key, by what {@link connectionOf} returns. */
  readonly #last = new WeakMap<object, { readonly header: Uint8Array; readonly key: Secret }>();

  /** Like {@link presentedKey}. */
  of({ headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>): Secret {
    const text = headers.authorization ?? '';
    if (text.length > LONGEST_REMEMBERED) return keyIn(text);
    const connection = connectionOf(raw);
    const header = Buffer.from(text, 'latin1');
    const last = this.#last.get(connection);
    // A proxy sends the requests of many clients on one connection. The response time must not tell them how much of a key they have guessed.
    if (last?.header.length === header.length && timingSafeEqual(last.header, header)) return last.key;
    const key = keyIn(text);
    // The buffer is a slice of a larger one, which would stay in memory without this copy.
    this.#last.set(connection, { header: new Uint8Array(header), key });
    return key;
  }
}

function keyIn(header: string): Secret {
  const key = credentials(header);
  if (key === '') {
    throw new MillraceError(
      'unauthenticated',
      'This request needs an API key; send it in the header authorization: Bearer <API_KEY>.',
    );
  }
  // Node decodes headers as Latin-1, while a key chosen by the operator is hashed as UTF-8. For ASCII keys both are the same.
  return new Secret(ASCII.test(key) ? key : Buffer.from(key, 'latin1').toString());
}

/**
 * The text after the scheme, without the spaces around it, or an empty text. Only spaces are removed, because other bytes that JavaScript
 * counts as white space may be part of a character of the key. The end is found by a loop, because a regular expression could take
 * quadratic time on a header full of spaces.
 */
function credentials(header: string): string {
  const start = SCHEME.exec(header)?.[0].length ?? header.length;
  let end = header.length;
  while (header[end - 1] === ' ') end -= 1;
  return header.slice(start, end);
}
