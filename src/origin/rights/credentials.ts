/**
 * What a request shows to be let in: a playback token or an access key, in a header or in the query. Where a header is given it counts,
 * because a player sets it on purpose while a query may be left over in an address.
 */
import type { FastifyRequest } from 'fastify';

/** Longer ones are not looked at. A token of ours has about 700 characters. */
export const MAX_TOKEN_LENGTH = 4096;
/** Longer ones are not looked at. They are sealed into every playlist address, which has to stay below 16 KiB with its headers. */
export const MAX_ACCESS_KEY_LENGTH = 1024;

/** What a request shows; empty texts count as nothing. */
export interface Credentials {
  /** A playback token (JSON Web Token). */
  readonly token: string | undefined;
  /** A text that means something to the owner's server only. */
  readonly accessKey: string | undefined;
}

/** Reads what a request shows. A parameter that is given twice counts as nothing. */
export function credentialsOf({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): Credentials {
  const { jwt, accessKey } = query as Readonly<Record<string, unknown>>;
  return {
    token: textOf(headers['livepeer-jwt']) ?? textOf(jwt),
    accessKey: textOf(headers['livepeer-access-key']) ?? textOf(accessKey),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
