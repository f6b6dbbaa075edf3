/**
 * Sends one request to a webhook, with limits of time and size, and only to addresses that were checked for this attempt.
 */
import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { type CheckedAddress, type DestinationGuard, DestinationRefused } from '#lib/destination-guard.ts';
import { type Client, loadClient, type Pool } from './http-client.ts';

/** How long a receiver may take to accept the connection and to answer. */
const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 15_000;
/** How long the body of an answer may take after its status. */
const BODY_TIMEOUT_MS = 2000;
/** The number of bytes of a body that are read before the connection is closed. */
const MAX_BODY_BYTES = 16_384;
/** The number of bytes of an answer's headers that are accepted. */
const MAX_HEADER_BYTES = 16_384;
/** How long an unused connection is kept. */
const KEEP_ALIVE_MS = 4000;
/** The number of pairs of user and destination whose connections are kept. When it is exceeded, those used longest ago are closed. */
const MAX_POOLS = 256;
/** The number of connections for one user to one destination: as many as a user may have deliveries in progress. */
const CONNECTIONS = 100;

/** The result of a request. */
export interface Sent {
  /** Undefined when there was no answer. */
  readonly statusCode: number | undefined;
  readonly retryAfter: string | undefined;
  /** The first bytes of the body, at most {@link MAX_BODY_BYTES}. */
  readonly body: Buffer;
  /** Whether `body` is the whole body: it did not break off, and was neither too long nor too slow. */
  readonly isComplete: boolean;
  readonly durationMs: number;
  /** Why there was no answer, as a sentence. */
  readonly error: string | undefined;
}

/** The options of a sender. */
export interface SenderOptions {
  readonly guard: DestinationGuard;
  readonly clock: Clock;
}

/** Sends requests. It follows no redirects. */
export class Sender implements AsyncDisposable {
  readonly #guard: DestinationGuard;
  readonly #clock: Clock;
  /**
   * The pools by user, origin and addresses, with the one used last at the end. Users share no connections, because many may have receivers
   * at one host, and the slow ones of one user would take all connections to it.
   */
  readonly #pools = new Map<string, Pool>();

  constructor({ guard, clock }: SenderOptions) {
    this.#guard = guard;
    this.#clock = clock;
  }

  /** Sends a request. It never throws, except when `signal` aborts before there is a status. */
  async post(
    target: string,
    {
      userId,
      headers,
      body,
      signal,
    }: {
      /** The owner of the webhook. */
      readonly userId: UserId;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly signal: AbortSignal;
    },
  ): Promise<Sent> {
    const start = this.#clock.monotonic();
    const durationMs = () => Math.round(this.#clock.monotonic() - start);
    try {
      const url = new URL(target);
      const addresses = await this.#guard.check(url);
      const client = await loadClient();
      const pool = this.#pool(client, userId, url, addresses);
      const answer = await client.request.call(pool, {
        path: url.pathname + url.search,
        method: 'POST',
        headers: { ...headers },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      const read = await firstBytes(answer.body);
      const retryAfter = answer.headers['retry-after'];
      return {
        statusCode: answer.statusCode,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        ...read,
        durationMs: durationMs(),
        error: undefined,
      };
    } catch (error) {
      signal.throwIfAborted();
      return {
        statusCode: undefined,
        retryAfter: undefined,
        body: Buffer.alloc(0),
        isComplete: false,
        durationMs: durationMs(),
        error: sentenceOf(error),
      };
    }
  }

  /** Closes every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#pools.values(), (pool) => pool.destroy()));
    this.#pools.clear();
  }

  /** The connections of a user to exactly these addresses. */
  #pool(client: Client, userId: UserId, url: URL, addresses: readonly CheckedAddress[]): Pool {
    const key = [userId, url.origin, ...addresses.map(({ address }) => address)].join(' ');
    const known = this.#pools.get(key);
    this.#pools.delete(key);
    const pool = known ?? openPool(client, url.origin, addresses);
    this.#pools.set(key, pool);
    if (this.#pools.size > MAX_POOLS) {
      const [oldest] = this.#pools;
      if (oldest !== undefined) {
        this.#pools.delete(oldest[0]);
        // Requests in progress are finished.
        void oldest[1].close();
      }
    }
    return pool;
  }
}

function openPool({ Pool }: Client, origin: string, addresses: readonly CheckedAddress[]): Pool {
  // Not called for a URL with an address instead of a host name. The guard has checked that address, and the connection goes to it.
  const lookup: LookupFunction = (_hostname, options, done) => {
    const [first] = addresses;
    if (options.all) done(null, [...addresses]);
    else done(null, first!.address, first!.family);
  };
  return new Pool(origin, {
    connections: CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup, autoSelectFamily: true },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 1,
  });
}

/** Reads the first bytes of a body. An answer whose body breaks off still counts as an answer. */
async function firstBytes(body: Dispatcher.ResponseData['body']): Promise<Pick<Sent, 'body' | 'isComplete'>> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  let isComplete = false;
  const late = setTimeout(() => body.destroy(), BODY_TIMEOUT_MS);
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece);
      sizeBytes += piece.length;
      if (sizeBytes > MAX_BODY_BYTES) break;
    }
    isComplete = sizeBytes <= MAX_BODY_BYTES;
  } catch {
    // The caller decides whether the bytes received so far are enough.
  } finally {
    clearTimeout(late);
  }
  return { body: Buffer.concat(pieces).subarray(0, MAX_BODY_BYTES), isComplete };
}

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was closed before the answer.',
  UND_ERR_SOCKET: 'The connection was closed before the answer.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  ETIMEDOUT: 'The host cannot be reached.',
  UND_ERR_CONNECT_TIMEOUT: `No connection was made within ${CONNECT_TIMEOUT_MS / 1000} s.`,
  UND_ERR_HEADERS_TIMEOUT: `There was no answer within ${ANSWER_TIMEOUT_MS / 1000} s.`,
  UND_ERR_HEADERS_OVERFLOW: 'The headers of the answer are too large.',
};

/** Why there was no answer, for the owner of the webhook. */
function sentenceOf(error: unknown): string {
  if (error instanceof DestinationRefused) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError') return SENTENCES.UND_ERR_HEADERS_TIMEOUT!;
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string') return 'The request failed.';
  if (SENTENCES[code] !== undefined) return SENTENCES[code];
  return /CERT|TLS|SSL|SELF_SIGNED|ALTNAME/.test(code)
    ? `The TLS certificate was not accepted (${code}).`
    : `The request failed (${code}).`;
}
