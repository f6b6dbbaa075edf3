/**
 * The connection and the stream of a request, over HTTP/1.1 and HTTP/2.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';

/** The HTTP/2 stream of a request or an answer. Undefined over HTTP/1.1. */
export function streamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return (message as unknown as { readonly stream?: ServerHttp2Stream }).stream;
}

/**
 * The object that all requests of one connection share, as a key for what is remembered of it. Over HTTP/2 it is the session, because there
 * each request has a socket object of its own.
 */
export function connectionOf(request: IncomingMessage): object {
  return streamOf(request)?.session ?? request.socket;
}
