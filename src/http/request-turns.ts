/**
 * Starts a few requests in each turn of the event loop, the hosts that sent them taking turns, so that whoever sends many at once
 * holds up itself and nobody else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { FairQueue } from '#lib/fair-queue.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Flooders } from './flooders.ts';

/** Requests that are started in one turn of the event loop. Each takes up to a tenth of a millisecond. */
const PER_TURN = 16;
/**
 * Requests that may wait on one HTTP/1.1 connection. Beyond it the connection is closed. Hardly any client sends a request before
 * the answer to the one before. HTTP/2 has its own limit, `MAX_STREAMS`.
 */
const MAX_WAITING = 16;
/** The same where the host flooded lately: enough for a client that waits for its answers. */
const MAX_WAITING_OF_FLOODER = 1;

/** What serves a request. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** What {@link inTurns} needs. */
export interface RequestTurnsOptions {
  readonly flooders: Flooders;
  /** Each connection of a trusted proxy takes turns of its own, since it carries the requests of many. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** A connection on which requests had to wait. */
interface Connection {
  readonly address: string;
  /** Whom its requests count for. */
  readonly network: string;
  waiting: number;
}

interface WaitingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
}

/**
 * Wraps what serves requests, over either version of HTTP. A request over HTTP/1.1 that finds none before it is started at once. One over
 * HTTP/2 is started when all that has arrived with it has been read, so that requests that are taken back at once cost little.
 */
export function inTurns(handler: RequestHandler, { flooders, isTrustedProxy }: RequestTurnsOptions): RequestHandler {
  const waiting = new FairQueue<WaitingRequest>();
  const connections = new WeakMap<object, Connection>();
  let proxied = 0;
  /** Requests of this turn. */
  let started = 0;
  let isScheduled = false;

  const next = () => {
    started = 0;
    while (started < PER_TURN) {
      const first = waiting.take();
      if (first === undefined) break;
      first.connection.waiting -= 1;
      if (isGone(first.request)) continue;
      started += 1;
      handler(first.request, first.response);
    }
    isScheduled = started > 0;
    if (isScheduled) setImmediate(next);
  };

  const connectionOf = (request: IncomingMessage): Connection => {
    const carrier = streamOf(request)?.session ?? request.socket;
    let connection = connections.get(carrier);
    if (connection === undefined) {
      const { remoteAddress: address = '' } = request.socket;
      const isProxied = isTrustedProxy(address);
      if (isProxied) proxied += 1;
      connection = { address, network: isProxied ? `proxy ${proxied}` : networkOf(address), waiting: 0 };
      connections.set(carrier, connection);
    }
    return connection;
  };

  return (request, response) => {
    if (!isScheduled) {
      isScheduled = true;
      setImmediate(next);
    }
    const isHttp1 = request.httpVersionMajor === 1;
    if (isHttp1 && waiting.size === 0 && started < PER_TURN) {
      started += 1;
      handler(request, response);
      return;
    }
    const connection = connectionOf(request);
    const limit = flooders.has(connection.address) ? MAX_WAITING_OF_FLOODER : MAX_WAITING;
    if (isHttp1 && connection.waiting >= limit) {
      flooders.add(connection.address, 'pipelined_requests');
      cut(request.socket);
      return;
    }
    connection.waiting += 1;
    waiting.add(connection.network, { request, response, connection });
  };
}

/** What Node's parser of HTTP/1.1 does with a request. Node does not document it. */
interface Parser {
  onIncoming: () => number;
}

/** The number by which {@link Parser.onIncoming} says that what follows is not HTTP. */
const PARSE_NO_MORE = 2;

/** Closes an HTTP/1.1 connection, and drops what has been read from it. */
function cut(socket: Socket & { readonly parser?: Parser | null }): void {
  // Node would go on to make a request of each that is among the 64 KiB it reads at once, thousands where they are small.
  if (socket.parser) socket.parser.onIncoming = () => PARSE_NO_MORE;
  socket.destroy();
}

/** Whether the request was taken back, or its connection has ended. */
function isGone(request: IncomingMessage): boolean {
  return request.destroyed || (streamOf(request)?.destroyed ?? false);
}

/** The stream of HTTP/2 that a request came on; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}
