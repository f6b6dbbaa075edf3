/**
 * The API key a request presents: `authorization: Bearer <API key>`.
 */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { Secret } from '#domain/secret.ts';

const SCHEME = /^ *bearer +/i;
const ASCII = /^[ -~]*$/;

/**
 * The API key a request presents, right or wrong.
 * @throws {MillraceError} `unauthenticated` when it presents none
 */
export function presentedKey({ headers }: Pick<FastifyRequest, 'headers'>): Secret {
  const key = credentials(headers.authorization ?? '');
  if (key === '') {
    throw new MillraceError(
      'unauthenticated',
      'This request needs an API key; send it in the header authorization: Bearer <API_KEY>.',
    );
  }
  // Node gives header bytes as Latin-1, while a key chosen by the operator is hashed as UTF-8. Most keys are the same in both.
  return new Secret(ASCII.test(key) ? key : Buffer.from(key, 'latin1').toString());
}

/**
 * What follows the scheme, without the spaces around it; empty when nothing follows. Only spaces are removed, because other bytes that
 * JavaScript counts as white space may be half of a character of the key. A loop finds the end, because a regular expression would try
 * again at each of thousands of spaces.
 */
function credentials(header: string): string {
  const start = SCHEME.exec(header)?.[0].length ?? header.length;
  let end = header.length;
  while (header[end - 1] === ' ') end -= 1;
  return header.slice(start, end);
}
