/**
 * Ports for programs that cannot be asked which one they took.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A loopback port on which nothing listens. Another program may take it before it is used, and the one that needs it then fails. */
export async function freePort(): Promise<number> {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
