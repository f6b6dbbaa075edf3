/**
 * Free ports for programs that do not report the port that the system chose for them.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Finds a loopback port on which nothing listens. Another program may take it before it is used; then the program that needs it fails. */
export async function freePort(): Promise<number> {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
