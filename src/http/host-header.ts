/**
 * Checks the host that a request names.
 */
import type { IncomingMessage } from 'node:http';

/** A host with an optional port. It has no character that could end a URL or a header early. */
const HOST = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/;

/** Whether a text has the form of a host with an optional port. */
export const isHost = (text: string): boolean => HOST.test(text);

/**
 * Returns a sentence about what is wrong with the host of a request, or undefined when it is valid (RFC 9112 §3.2). Only HTTP/1.0 may
 * omit the host.
 */
export function hostProblem({ rawHeaders, headers, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return 'The request has more than one Host header; send one.';
  const host = headers[':authority'] ?? headers.host;
  if (host === undefined) {
    return httpVersion === '1.0' ? undefined : 'The Host header is missing; send the host you connected to.';
  }
  return typeof host === 'string' && isHost(host)
    ? undefined
    : 'The Host header is not a host name; send the one you connected to.';
}
