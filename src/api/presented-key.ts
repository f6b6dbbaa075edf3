/**
 * Reads the API key that a request presents: `authorization: Bearer <API key>`.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { Secret } from '#domain/secret.ts';

const SCHEME = /^ *bearer +/i;
const ASCII = /^[ -~]*$/;

/**
 * Reads the API key that a request presents, without checking it.
 * @throws {MillraceError} `unauthenticated` when the request presents none
 */
export function presentedKey({ headers }: Pick<FastifyRequest, 'headers'>): Secret {
  const key = credentials(headers.authorization ?? '');
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
