/**
 * The `authorization` header, at every length that a request may have.
 */
import type { FastifyRequest } from 'fastify';
import { presentedKey } from '#api/presented-key.ts';
import { MillraceError } from '#domain/errors.ts';
import { behaviour, magnitude, must, type Target } from '../target.ts';

/** The header is refused or holds a key, in time that grows no faster than its length. */
export const authorizationTarget: Target = {
  name: 'authorization',
  corpus: [
    'Bearer 0123456789abcdef0123456789abcdef',
    'bearer    key with blanks  ',
    'Basic dXNlcjpwYXNz',
    `Bearer ${' '.repeat(2000)}\xa0`,
  ].map((text) => Buffer.from(text, 'latin1')),
  dictionary: ['Bearer ', 'bearer', '    ', '\t', '\xa0', ' '.repeat(500)].map((token) => Buffer.from(token, 'latin1')),
  maxBytes: 16_384,
  expected: [MillraceError],
  open: () => ({
    read(input) {
      const authorization = input.toString('latin1');
      const key = presentedKey({ headers: { authorization } } as FastifyRequest).reveal();
      must(key.length > 0 && key.length <= authorization.length, () => `a key of ${key.length} characters`);
      return behaviour(magnitude(key.length), magnitude(authorization.length - key.length));
    },
  }),
};
