/**
 * Reads the credentials of a request: a playback token or an access key, in a header or in the query. A header takes precedence, because a
 * player sets it on purpose, while a query may be left over in an address.
 */
import type { FastifyRequest } from 'fastify';

/** Longer tokens are ignored. A typical token has about 700 characters. */
export const MAX_TOKEN_LENGTH = 4096;
/** Longer access keys are ignored. They become part of every playlist address, which with its headers must stay below 16 KiB. */
export const MAX_ACCESS_KEY_LENGTH = 1024;

/** The credentials of a request. Empty texts count as missing. */
export interface Credentials {
  /** A playback token (JSON Web Token) or an owner token. */
  readonly token: string | undefined;
  /** A text that only the owner's server interprets. */
  readonly accessKey: string | undefined;
}

/** Reads the credentials of a request. A parameter that is given twice counts as missing. */
export function credentialsOf({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): Credentials {
  const { jwt, accessKey } = query as Readonly<Record<string, unknown>>;
  return {
    token: textOf(headers['livepeer-jwt']) ?? textOf(jwt),
    accessKey: textOf(headers['livepeer-access-key']) ?? textOf(accessKey),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
