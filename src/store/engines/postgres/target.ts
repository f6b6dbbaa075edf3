/**
 * Parses a database URL, and makes the options of connections to it.
 */
import { Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import type { Secret } from '#domain/secret.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { typeParsers } from './dialect.ts';

/** Idle milliseconds after which the system probes the connection. */
const KEEP_ALIVE_MS = 10_000;

/** A database on a server. */
export interface Target {
  /** The part of the URL that may be shown: `host:port/database`. */
  readonly place: string;
  /** The URL for PostgreSQL's own tools, without the user and the password, which the operator gives them in another way. */
  readonly toolUrl: string;
  /** The options of a connection. Each call makes one socket. They contain the password, so never log them. */
  options(): ClientConfig & { readonly connectionString: string };
}

/**
 * Parses the part of the URL that is shown. `pg` parses it again for everything else.
 * @throws {StoreOpenError} `database_url`
 */
export function targetOf(url: Secret): Target {
  const connectionString = url.reveal();
  // No cause is set, because the error contains the whole text.
  const parsed = URL.parse(connectionString);
  const isOurs = parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol);
  const hostname = isOurs ? decoded(parsed.hostname) : undefined;
  // A password with an unescaped slash, question mark or hash would become part of what is shown.
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
    toolUrl: toolUrlOf(parsed, host, port),
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

/** The settings of an encrypted connection that PostgreSQL's tools understand as well. */
const TOOL_SETTINGS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/** Makes the URL for PostgreSQL's tools. The folder of a socket can only be a parameter of it. */
function toolUrlOf(parsed: URL, host: string, port: string): string {
  const isSocket = host.startsWith('/');
  const query = new URLSearchParams(isSocket ? { host, port } : {});
  for (const name of TOOL_SETTINGS) {
    const value = parsed.searchParams.get(name);
    // Only the client for Node knows `no-verify`. Its equivalent in PostgreSQL's tools is `require`.
    if (value !== null) query.set(name, value === 'no-verify' ? 'require' : value);
  }
  const asked = query.toString().replaceAll('%2F', '/').replaceAll('+', '%20');
  return `postgres://${isSocket ? '' : `${host}:${port}`}${parsed.pathname}${asked === '' ? '' : `?${asked}`}`;
}

/** The host name, or the folder of a socket, which is given with escaped slashes. Undefined for anything else. */
function decoded(hostname: string): string | undefined {
  try {
    return decodeURIComponent(hostname);
  } catch {
    return undefined;
  }
}
