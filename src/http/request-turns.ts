/**
 * Starts the requests of one connection a few at a time, so that whoever sends many at once holds up only itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2';

/** Requests of one connection that are started in one turn of the event loop. */
const PER_TURN = 8;
/**
 * Requests that may wait on one HTTP/1.1 connection; beyond it the connection is closed. Hardly any client sends a request before
 * the answer to the one before. HTTP/2 has its own limit, `MAX_STREAMS`.
 */
const MAX_WAITING = 64;

/** What serves a request. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests of one connection in this turn of the event loop. */
interface Turn {
  started: number;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
}

/** Wraps what serves requests, over either version of HTTP. A request that finds none before it is started at once. */
export function inTurns(handler: RequestHandler): RequestHandler {
  const turns = new WeakMap<object, Turn>();
  const next = (connection: object, turn: Turn) => {
    turn.started = 0;
    for (const [request, response] of turn.waiting.splice(0, PER_TURN)) {
      if (isGone(request)) continue;
      turn.started += 1;
      handler(request, response);
    }
    if (turn.started > 0 || turn.waiting.length > 0) setImmediate(next, connection, turn);
    else turns.delete(connection);
  };
  return (request, response) => {
    const connection = connectionOf(request);
    let turn = turns.get(connection);
    if (turn === undefined) {
      turn = { started: 0, waiting: [] };
      turns.set(connection, turn);
      setImmediate(next, connection, turn);
    }
    if (turn.started < PER_TURN && turn.waiting.length === 0) {
      turn.started += 1;
      handler(request, response);
    } else if (turn.waiting.length < MAX_WAITING || request.httpVersionMajor > 1)
      turn.waiting.push([request, response]);
    else request.socket.destroy();
  };
}

/** What carries the requests of one client: the socket, or the session of HTTP/2. */
function connectionOf(request: IncomingMessage): object {
  return streamOf(request)?.session ?? request.socket;
}

/** Whether the request was taken back, or its connection has ended. */
function isGone(request: IncomingMessage): boolean {
  return request.destroyed || (streamOf(request)?.destroyed ?? false);
}

/** The stream of HTTP/2 that a request came on; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}
