/**
 * Limits the TLS handshakes of each client, because a handshake costs the server far more than the client.
 */
import type { Server, Socket } from 'node:net';
import type { Clock } from '#lib/clock.ts';
import { FairQueue } from '#lib/fair-queue.ts';
import { FairSlots } from '#lib/fair-slots.ts';
import { networkOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import { MINUTE_MS } from '#lib/units.ts';
import { isHelloComplete } from './client-hello.ts';
import { HEADERS_TIMEOUT_MS } from './limits.ts';

/** The most concurrent handshakes, shared fairly among networks. */
const MAX_UNDER_WAY = 1000;
/** New connections of one host in a minute, which may also come at once. Connections are reused, so even a shared address needs few. */
const PER_MINUTE = 1200;
/**
 * The handshakes of one host that begin without waiting. After that, one begins after each pause, and the others wait. A handshake takes almost
 * 1 ms, so a host that opens hundreds of connections in a second would take half of the event loop's time. With this pause it takes a twentieth,
 * and 200 viewers who connect through one address at the same moment are all served within four seconds.
 */
const AT_ONCE = 20;
const PAUSE_MS = 20;
/** The most handshakes of one host that wait, which is as many as begin in 10 s. */
const MAX_WAITING_OF_HOST = 500;
/** The most bytes of a ClientHello, and the most pieces in which they may arrive. A browser sends about 1,800 bytes in two pieces. */
const MAX_HELLO_BYTES = 16_384;
const MAX_HELLO_PIECES = 16;

/** What {@link limitHandshakes} needs. */
export interface HandshakeOptions {
  readonly clock: Clock;
  /** Whether the connections of a host are not limited in number, because they carry the requests of many clients. */
  readonly isExempt: (address: string) => boolean;
}

/**
 * Closes the connections of a TLS server that exceed a limit before their handshake begins. Of the other connections whose ClientHello is
 * complete, one begins its handshake in each turn of the event loop, from each host in turn. The connections of a host that opens many wait
 * before they take part in the turns.
 */
export function limitHandshakes(server: Server, { clock, isExempt }: HandshakeOptions): void {
  const begin = beginInTurns(server);
  const { pace, isFull } = beginPaced(begin, { clock, isExempt });
  const underWay = new FairSlots<Socket>(MAX_UNDER_WAY);
  const byPeer = new Map<string, Socket>();
  const opened = new TokenBuckets({ perMinute: PER_MINUTE, clock });
  server.on('connection', (socket: Socket) => {
    // A listener before this one has refused it.
    if (socket.destroyed) return;
    socket.on('error', () => {}); // `close` follows
    const { remoteAddress } = socket;
    // The socket of a client that is already gone has no address, and nothing else would close it.
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const host = networkOf(remoteAddress);
    if (isExempt(remoteAddress)) {
      awaitHello(socket, (release) => begin({ socket, host, release }));
      return;
    }
    // A connection that is closed for want of a place to wait takes nothing from the allowance, which its client needs when it comes again.
    const admission = !isFull(host) && opened.take(host).allowed && underWay.enter(socket, remoteAddress);
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
    awaitHello(socket, (release) => pace({ socket, host, release }));
  });
  server.on('secureConnection', (secured: Socket) => {
    const socket = byPeer.get(peerOf(secured));
    if (socket !== undefined) underWay.leave(socket);
  });
}

/** A connection whose ClientHello is complete. */
interface Client {
  readonly socket: Socket;
  readonly host: string;
  /** Hands the socket over to TLS, with all bytes that have arrived. Until then a client that disconnects is noticed. */
  readonly release: () => void;
}

/** Begins the handshake of a client, or lets it wait. */
type Begin = (client: Client) => void;

/** Replaces the listeners that begin the handshakes of a server. @returns a function that begins a handshake when its turn has come */
function beginInTurns(server: Server): Begin {
  const begins = server.listeners('connection');
  server.removeAllListeners('connection');
  const waiting = new FairQueue<Client>();
  let isScheduled = false;
  const next = () => {
    let client = waiting.take();
    while (client?.socket.destroyed) client = waiting.take();
    isScheduled = client !== undefined;
    if (client === undefined) return;
    setImmediate(next);
    client.release();
    for (const begin of begins) begin.call(server, client.socket);
  };
  return (client) => {
    waiting.add(client.host, client);
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(next);
  };
}

/**
 * Lets handshakes wait whose host has begun many.
 * @param begin begins a handshake whose time has come
 * @returns `pace`, which begins a handshake or lets it wait, and `isFull`, which tells whether no further handshake of a host may wait
 */
function beginPaced(
  begin: Begin,
  { clock, isExempt }: HandshakeOptions,
): { readonly pace: Begin; readonly isFull: (host: string) => boolean } {
  const allowance = new TokenBuckets({ perMinute: MINUTE_MS / PAUSE_MS, atOnce: AT_ONCE, clock });
  const waiting = new FairQueue<Client>();
  let isScheduled = false;
  // A waiting client may disconnect, so a timer may be due although the queue is empty.
  const schedule = () => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setTimeout(beginOneOfEach, PAUSE_MS);
  };
  /** Begins all waiting handshakes of a host, because it has become exempt. */
  const beginAllOf = (host: string) => {
    for (let next = waiting.takeOf(host); next !== undefined; next = waiting.takeOf(host)) begin(next);
  };
  const beginOneOfEach = () => {
    isScheduled = false;
    for (let hosts = waiting.networks; hosts > 0; hosts -= 1) {
      const client = waiting.take()!;
      const { socket, host } = client;
      // Otherwise the allowance would be regained although handshakes of the host begin at the same rate.
      allowance.spend(host, 1);
      begin(client);
      if (isExempt(socket.remoteAddress ?? '')) beginAllOf(host);
    }
    schedule();
  };
  const isFull = (host: string) => waiting.countOf(host) >= MAX_WAITING_OF_HOST;
  const pace: Begin = (client) => {
    const { socket, host } = client;
    if (waiting.countOf(host) === 0 && allowance.take(host).allowed) {
      begin(client);
      return;
    }
    // Several connections may have been admitted before the ClientHello of any of them was complete.
    if (isFull(host)) {
      socket.destroy();
      return;
    }
    waiting.add(host, client);
    schedule();
    socket.once('close', () => waiting.remove(host, client));
  };
  return { pace, isFull };
}

/**
 * Calls `arrived` once a ClientHello is complete, with a function that gives its bytes back to the socket for TLS. Closes the socket if none
 * arrives, or if the client ends the connection before that function is called.
 */
function awaitHello(socket: Socket, arrived: (release: () => void) => void): void {
  let hello = Buffer.alloc(0);
  let pieces = 0;
  let isComplete = false;
  const giveUp = () => socket.destroy();
  const overdue = setTimeout(giveUp, HEADERS_TIMEOUT_MS).unref();
  const closed = () => clearTimeout(overdue);
  const release = () => {
    socket.off('data', take).off('end', giveUp).off('close', closed).pause();
    socket.unshift(hello);
  };
  const take = (piece: Buffer) => {
    hello = Buffer.concat([hello, piece]);
    pieces += 1;
    if (!isComplete && isHelloComplete(hello)) {
      isComplete = true;
      clearTimeout(overdue);
      arrived(release);
    } else if (pieces >= MAX_HELLO_PIECES || hello.length >= MAX_HELLO_BYTES) giveUp();
  };
  socket.on('data', take).once('end', giveUp).once('close', closed);
}

/** Identifies a connection, with the same text for its TCP socket and for the TLS socket on it. */
const peerOf = ({ localAddress, remoteAddress, remotePort }: Socket) =>
  `${localAddress} ${remoteAddress} ${remotePort}`;
