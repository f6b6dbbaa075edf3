/**
 * Which database a URL names, and how connections to it are made.
 */
import { Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import type { Secret } from '#domain/secret.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { typeParsers } from './dialect.ts';

/** Idle time after which the system asks whether the other end is still there, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** A database on a server. */
export interface Target {
  /** `host:port/database`: what may be shown of the URL. */
  readonly place: string;
  /** Options of a connection; each call makes one socket. Holds the password: never log it. */
  options(): ClientConfig & { readonly connectionString: string };
}

/**
 * Reads the URL as far as it is shown; `pg` reads it again for everything else.
 * @throws {StoreOpenError} `database_url`
 */
export function targetOf(url: Secret): Target {
  const connectionString = url.reveal();
  // Without a cause: the error holds the whole text.
  const parsed = URL.parse(connectionString);
  const isOurs = parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol);
  const hostname = isOurs ? decoded(parsed.hostname) : undefined;
  // A password with an unescaped slash, question mark or hash would end up in what is shown.
  if (
    !isOurs ||
    hostname === undefined ||
    /[@\s]/.test(parsed.pathname + parsed.search + parsed.hash) ||
    parsed.hash !== ''
  ) {
    throw new StoreOpenError('database_url', '');
  }
  const host = parsed.searchParams.get('host') ?? (hostname || 'localhost');
  const port = parsed.searchParams.get('port') ?? (parsed.port || '5432');
  return {
    place: `${host}:${port}${parsed.pathname}`,
    options: () => ({
      connectionString,
      fallback_application_name: 'millrace',
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => new Socket(),
      types: typeParsers,
    }),
  };
}

/** The name of a host, or the folder of a socket, which has its slashes escaped; undefined for what is neither. */
function decoded(hostname: string): string | undefined {
  try {
    return decodeURIComponent(hostname);
  } catch {
    return undefined;
  }
}
