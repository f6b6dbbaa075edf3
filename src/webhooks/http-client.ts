/**
 * The part of undici that sends requests. It is loaded when something is first sent, and piece by piece: all of undici is 110 modules, and
 * loading them at once blocks the event loop for 50 ms.
 */
import { createRequire } from 'node:module';
import type { Dispatcher, Pool } from 'undici';
import { loadInTurns } from '#lib/load-in-turns.ts';

/** Connections to one origin, which are used again and again. */
export type { Pool };

/** What is used of undici. */
export interface Client {
  readonly Pool: typeof Pool;
  /** Sends a request over a pool. The package itself makes this a method of pools. */
  readonly request: (
    this: Pool,
    options: Pick<Dispatcher.RequestOptions, 'path' | 'method' | 'headers' | 'body' | 'signal'>,
  ) => Promise<Dispatcher.ResponseData>;
}

const require = createRequire(import.meta.url);
const POOL = 'undici/lib/dispatcher/pool.js';
const REQUEST = 'undici/lib/api/api-request.js';
/** Modules in pieces of a few milliseconds. The third loads Node's HTTP/2. */
const PIECES = ['undici/lib/core/util.js', 'undici/lib/dispatcher/client-h1.js', 'undici/lib/dispatcher/client-h2.js'];

let loaded: Promise<void> | undefined;

/** Loads the client at the first call. */
export async function loadClient(): Promise<Client> {
  loaded ??= loadInTurns(require, [...PIECES, POOL, REQUEST]);
  await loaded;
  return { Pool: require(POOL), request: require(REQUEST) };
}
