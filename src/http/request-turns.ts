/**
 * Starts a few requests in each turn of the event loop, from each host in turn, so that a host that sends many at once delays only
 * itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '#lib/clock.ts';
import { FairQueue } from '#lib/fair-queue.ts';
import { networkOf } from '#lib/network-of.ts';
import { connectionOf, streamOf } from '#lib/request-connection.ts';
import type { Flooders } from './flooders.ts';

/** The most requests that are started in one turn of the event loop. */
const MAX_PER_TURN = 16;
/** Requests that are started in the first turn of a burst. What they cost decides how many the next turn may start. */
const FIRST_PER_TURN = 2;
/**
 * When a turn takes longer than this, it has started too many requests. Most requests take 0.1 ms, a request of 15 kB takes 1 ms, and one
 * with a large answer 3 ms.
 */
const LONG_TURN_MS = 3;
/**
 * The most pipelined requests that may wait on one HTTP/1.1 connection. With more, the connection is closed: hardly any client sends a
 * request before it has the answer to the previous one. HTTP/2 has its own limit, `MAX_STREAMS`.
 */
const MAX_WAITING = 30;
/** The same limit for a host that flooded recently: enough for a client that waits for each answer. */
const MAX_WAITING_OF_FLOODER = 1;

/** Serves a request. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** What {@link inTurns} needs. */
export interface RequestTurnsOptions {
  readonly clock: Clock;
  readonly flooders: Flooders;
  /** Each connection of a trusted proxy takes turns of its own, because it carries the requests of many clients. */
  readonly isTrustedProxy: (address: string) => boolean;
  /** The connections of other nodes. Each takes turns of its own for the same reason. */
  readonly nodes: { has(connection: object): boolean };
}

/** A connection on which requests had to wait. */
interface Connection {
  readonly address: string;
  /** The network that its requests count for. */
  network: string;
  /** Whether the connection counts as a network of its own. */
  isProxied: boolean;
  waiting: number;
}

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
}

/**
 * Wraps a handler so that its requests start in turns, over HTTP/1.1 and HTTP/2. An HTTP/1.1 request starts at once when none waits. An
 * HTTP/2 request starts after everything that arrived with it has been read, so that requests that are cancelled at once cost little.
 */
export function inTurns(
  handler: RequestHandler,
  { clock, flooders, isTrustedProxy, nodes }: RequestTurnsOptions,
): RequestHandler {
  const waiting = new FairQueue<WaitingRequest>();
  const connections = new WeakMap<object, Connection>();
  let proxied = 0;
  /** Requests started in this turn, and how many it may start. */
  let started = 0;
  let perTurn = FIRST_PER_TURN;
  let turnBeganAt = clock.monotonic();
  let isScheduled = false;

  const schedule = () => {
    isScheduled = true;
    turnBeganAt = clock.monotonic();
    setImmediate(next);
  };

  const next = () => {
    perTurn = perTurnAfter(perTurn, clock.monotonic() - turnBeganAt);
    started = 0;
    while (started < perTurn) {
      const first = waiting.take();
      if (first === undefined) break;
      first.connection.waiting -= 1;
      if (isGone(first.request)) continue;
      started += 1;
      handler(first.request, first.response);
    }
    if (started > 0) {
      schedule();
    } else {
      isScheduled = false;
      perTurn = FIRST_PER_TURN;
    }
  };

  const separate = (connection: Connection) => {
    proxied += 1;
    connection.network = `proxy ${proxied}`;
    connection.isProxied = true;
  };

  const waitingOn = (request: IncomingMessage): Connection => {
    const key = connectionOf(request);
    let connection = connections.get(key);
    if (connection === undefined) {
      const { remoteAddress: address = '' } = request.socket;
      connection = { address, network: networkOf(address), isProxied: false, waiting: 0 };
      connections.set(key, connection);
      if (isTrustedProxy(address)) separate(connection);
    }
    if (!connection.isProxied && nodes.has(key)) separate(connection);
    return connection;
  };

  return (request, response) => {
    if (!isScheduled) schedule();
    const isHttp1 = request.httpVersionMajor === 1;
    if (isHttp1 && waiting.size === 0 && started < perTurn) {
      started += 1;
      handler(request, response);
      return;
    }
    const connection = waitingOn(request);
    const limit = flooders.has(connection.address) ? MAX_WAITING_OF_FLOODER : MAX_WAITING;
    if (isHttp1 && connection.waiting >= limit) {
      flooders.add(connection.address, 'pipelined_requests');
      disconnect(request.socket);
      return;
    }
    connection.waiting += 1;
    waiting.add(connection.network, { request, response, connection });
  };
}

/**
 * How many requests the next turn of the event loop may start.
 * @param perTurn how many this turn could start
 * @param tookMs how long this turn lasted, all other work of the event loop included
 */
export function perTurnAfter(perTurn: number, tookMs: number): number {
  if (tookMs > LONG_TURN_MS) return Math.max(1, Math.floor(perTurn / 2));
  return Math.min(MAX_PER_TURN, perTurn * 2);
}

/** Node's HTTP/1.1 parser, with its undocumented callback for each parsed request. */
interface Parser {
  onIncoming: () => number;
}

/** The result of {@link Parser.onIncoming} after which the parser does not parse the bytes that follow. */
const PARSE_NO_MORE = 2;

/** Closes an HTTP/1.1 connection, and drops the bytes that have been read from it. */
function disconnect(socket: Socket & { readonly parser?: Parser | null }): void {
  // Otherwise Node would still emit every request in the 64 KiB that it has read, which are thousands if they are small.
  if (socket.parser) socket.parser.onIncoming = () => PARSE_NO_MORE;
  socket.destroy();
}

/** Whether the request was cancelled or its connection is closed. */
function isGone(request: IncomingMessage): boolean {
  return (streamOf(request) ?? request.socket).destroyed;
}
