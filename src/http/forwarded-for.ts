/**
 * The header `X-Forwarded-For`, with which proxies say for which client a request is. Fastify takes each text between two commas for an
 * address, so the header is brought into that form before Fastify reads it.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** An IPv4 address with a port, as Azure's Application Gateway and IIS write it, or an IPv6 address in brackets, with or without one. */
const WITH_PORT = /^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * Rewrites the header of a request that a trusted proxy has sent, so that it has only addresses. Otherwise each port of a client would count
 * as a client of its own.
 */
export function readForwardedFor(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrustedProxy: (address: string) => boolean,
): void {
  const written = headers['x-forwarded-for'];
  // Node joins the lines of this header into one text.
  if (typeof written !== 'string' || isIP(written) !== 0 || !isTrustedProxy(socket.remoteAddress ?? '')) return;
  const addresses = forwardedAddresses(written);
  headers['x-forwarded-for'] = addresses.length > 0 ? addresses.join(', ') : socket.remoteAddress;
}

/**
 * The addresses of a header, without ports, in its order. An entry that is no address, such as `unknown`, and everything before it is left
 * out: the request then counts for the proxy that wrote the entry, and what is before it may be invented.
 */
export function forwardedAddresses(header: string): readonly string[] {
  const addresses = header.split(',').map((entry) => addressIn(entry.trim()));
  return addresses.slice(addresses.lastIndexOf(undefined) + 1) as string[];
}

/** The address of an entry. Undefined when it has none. */
function addressIn(entry: string): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(entry) ?? [];
  const address = v4 ?? v6 ?? entry;
  return isIP(address) === 0 ? undefined : address;
}
