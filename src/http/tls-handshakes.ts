/**
 * Bounds the TLS handshakes this server does for anybody, since each costs it far more than whoever asks for it.
 */
import type { Server, Socket } from 'node:net';
import type { Clock } from '#lib/clock.ts';
import { FairSlots } from '#lib/fair-slots.ts';
import { networkOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';

/** Handshakes under way at the same time, shared among networks. */
const MAX_UNDER_WAY = 1000;
/** New connections of one host in a minute, which may also come at once. Connections are kept, so even a shared address needs few. */
const PER_MINUTE = 1200;

/** What {@link limitHandshakes} needs. */
export interface HandshakeOptions {
  readonly clock: Clock;
  /** Whose connections are not bounded, as they carry the requests of many. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** Closes connections of a TLS server that are too many, before their handshake begins. */
export function limitHandshakes(server: Server, { clock, isTrustedProxy }: HandshakeOptions): void {
  const underWay = new FairSlots<Socket>(MAX_UNDER_WAY);
  const byPeer = new Map<string, Socket>();
  const opened = new TokenBuckets({ perMinute: PER_MINUTE, clock });
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isTrustedProxy(remoteAddress)) return;
    const admission = opened.take(networkOf(remoteAddress)).allowed && underWay.enter(socket, remoteAddress);
    if (admission === false || !admission.admitted) {
      socket.destroy();
      return;
    }
    admission.evicted?.destroy();
    const peer = peerOf(socket);
    byPeer.set(peer, socket);
    socket.once('close', () => {
      underWay.leave(socket);
      if (byPeer.get(peer) === socket) byPeer.delete(peer);
    });
  });
  server.on('secureConnection', (secured: Socket) => {
    const socket = byPeer.get(peerOf(secured));
    if (socket !== undefined) underWay.leave(socket);
  });
}

/** Names a connection, the same for its TCP socket and for the TLS socket on it. */
const peerOf = ({ localAddress, remoteAddress, remotePort }: Socket) =>
  `${localAddress} ${remoteAddress} ${remotePort}`;
