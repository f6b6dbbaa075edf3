/**
 * Answers what Node's HTTP parser refuses before there is a request: same shape as every other error.
 */
import type { Socket } from 'node:net';
import { type ERRORS, MillraceError } from '#domain/errors.ts';
import { errorBody } from './error-reply.ts';

const REASONS: Readonly<Record<string, readonly [keyof typeof ERRORS, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The path and headers are larger than 16 kB together; send less.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request took too long to arrive; send it faster.'],
};

/**
 * A `clientError` listener. What is wrong below HTTP (a TLS handshake that fails, plain HTTP sent to HTTPS) gets no answer,
 * since there is no way to send one: the connection is closed.
 * @param nextId gives the request id of the answer
 */
export function answerClientError(nextId: () => string): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    const { code: cause = '' } = error;
    // Something was answered on this connection already: more bytes could land in the middle of it.
    if (!socket.writable || socket.bytesWritten > 0 || !(cause in REASONS || cause.startsWith('HPE_'))) {
      socket.destroy();
      return;
    }
    const [code, message] = REASONS[cause] ?? ['invalid_request', 'The request is not valid HTTP/1.1.'];
    const refusal = new MillraceError(code, message);
    const body = JSON.stringify(errorBody(refusal, nextId()));
    socket.end(
      `HTTP/1.1 ${refusal.status} Refused\r\ncontent-type: application/json; charset=utf-8\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  };
}
