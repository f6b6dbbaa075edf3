/**
 * Answers invalid requests that never reach Fastify, in the form of every other error.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ERRORS, MillraceError } from '#domain/errors.ts';
import { errorBody } from './error-reply.ts';

const REASONS: Readonly<Record<string, readonly [keyof typeof ERRORS, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The path and headers are larger than 16 kB together; send less.'],
  HPE_INVALID_METHOD: ['invalid_request', 'The method of the request is unknown; send one such as GET.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request took too long to arrive; send it faster.'],
};

const TUNNEL = new MillraceError(
  'invalid_request',
  'This server is not a proxy; send the request itself instead of CONNECT.',
);

/**
 * Makes a `clientError` listener that answers invalid requests. Faults below HTTP (a failed TLS handshake, plain HTTP sent to HTTPS)
 * cannot be answered, so the connection is closed.
 * @param nextId gives the request id of the answer
 */
export function answerClientError(nextId: () => string): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  return (error, socket) => {
    const { code: cause = '' } = error;
    // On a connection that has been answered before, more bytes could land in the middle of that answer.
    const hasAnswered = !('bytesWritten' in socket) || socket.bytesWritten !== 0;
    if (!socket.writable || hasAnswered || !(cause in REASONS || cause.startsWith('HPE_'))) {
      socket.destroy();
      return;
    }
    const [code, message] = REASONS[cause] ?? [
      'invalid_request',
      'The request is not valid HTTP/1.1; check its first line, its headers and the length of its body.',
    ];
    refuse(socket, new MillraceError(code, message), nextId());
  };
}

/**
 * Makes a `connect` listener that refuses the method CONNECT, whose target is not a path, over HTTP/1.1 and HTTP/2.
 * @param nextId gives the request id of the answer
 */
export function refuseTunnel(
  nextId: () => string,
): (request: IncomingMessage, connection: Duplex | ServerResponse) => void {
  return (_request, connection) => {
    if (!('writeHead' in connection)) {
      refuse(connection, TUNNEL, nextId());
      return;
    }
    const { body, headers } = answerOf(TUNNEL, nextId());
    connection.writeHead(TUNNEL.status, headers).end(body);
  };
}

/** Answers on an HTTP/1.1 connection that has no response object, and closes it. */
function refuse(socket: Duplex, refusal: MillraceError, requestId: string): void {
  const { body, headers } = answerOf(refusal, requestId);
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} Refused\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function answerOf(refusal: MillraceError, requestId: string) {
  const body = JSON.stringify(errorBody(refusal, requestId));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  };
  return { body, headers };
}
