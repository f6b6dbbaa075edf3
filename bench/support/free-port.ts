/**
 * Ports for programs that cannot be asked which one they took.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A loopback port nobody listens on. Somebody may before it is used: the program then fails and says so. */
export async function freePort(): Promise<number> {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
