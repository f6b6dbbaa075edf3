/**
 * Sends requests to another node over HTTP, with limits on time and memory.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Agent } from 'undici';
import { MillraceError } from '#domain/errors.ts';

const CONNECT_TIMEOUT_MS = 2000;
/** When an answer has paused for this long, its node is taken to hang or to be unreachable. */
const BODY_TIMEOUT_MS = 10_000;
/** How long an answer is waited for beyond the time that the other node may hold a request. */
const ANSWER_MARGIN_MS = 5000;
/**
 * The time that an idle connection is kept. It is shorter than the servers of nodes keep theirs, so that none is used while it is being
 * closed.
 */
const KEEP_ALIVE_MS = 30_000;
/** The largest accepted answer: a segment of ten seconds at 50 Mbit/s. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** The number of bytes that all arriving answers may have together. */
const MAX_ARRIVING_BYTES = 512 * 1024 * 1024;

/** The answer of another node. */
export interface PeerAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The pieces of the body, in order. */
  readonly pieces: readonly Uint8Array[];
  readonly sizeBytes: number;
}

/** The options of a {@link PeerClient}. */
export interface PeerClientOptions {
  /** The number of connections to one node that may be open. Each request in progress needs one. */
  readonly maxConnections: number;
  /** How long the other node may hold a request. */
  readonly longestHoldMs: number;
}

/** Sends requests to other nodes. It follows no redirects and adds no headers of its own. */
export class PeerClient implements AsyncDisposable {
  readonly #agent: Agent;
  #arrivingBytes = 0;

  constructor({ maxConnections, longestHoldMs }: PeerClientOptions) {
    this.#agent = new Agent({
      connections: maxConnections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: longestHoldMs + ANSWER_MARGIN_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /**
   * Gets a complete answer, whatever its status is.
   * @param origin the URL of the node's HTTP interface, without a path
   * @param path a path made by `resource-url.ts`
   * @throws {MillraceError} `node_unreachable` when no complete answer arrives; `too_many_viewers` when too many bytes arrive
   */
  async get(
    origin: string,
    path: string,
    { headers, signal }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ): Promise<PeerAnswer> {
    let sizeBytes = 0;
    try {
      const answer = await this.#agent.request({ origin, path, method: 'GET', headers: { ...headers }, signal });
      const pieces: Uint8Array[] = [];
      for await (const piece of answer.body as AsyncIterable<Uint8Array>) {
        sizeBytes += piece.length;
        this.#arrivingBytes += piece.length;
        if (this.#arrivingBytes > MAX_ARRIVING_BYTES) throw tooMuch();
        pieces.push(piece);
      }
      return { status: answer.statusCode, headers: answer.headers, pieces, sizeBytes };
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      throw unreachableNode(error);
    } finally {
      this.#arrivingBytes -= sizeBytes;
    }
  }

  /** Aborts every request in progress. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.destroy();
  }
}

/** Makes the error for a viewer when the node that has a stream gives no answer, or an invalid one. */
export function unreachableNode(cause?: unknown): MillraceError {
  return new MillraceError('node_unreachable', 'The server that has this stream does not answer; try again soon.', {
    cause,
    retryAfterS: 1,
  });
}

function tooMuch(): MillraceError {
  return new MillraceError(
    'too_many_viewers',
    'This server is fetching as much media from other servers as it can hold; try again soon.',
    { retryAfterS: 1 },
  );
}
