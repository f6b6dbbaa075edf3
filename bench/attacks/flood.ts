/**
 * The two shapes of most attacks: requests without end on some connections, and connections without end.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { type AttackRun, everyTick, inTurn, Pace, STRANGER_RATE } from './attack.ts';

/** Bytes that are sent at once, and how many requests they count as. */
export interface Burst {
  readonly bytes: Buffer;
  readonly requests: number;
}

/** Requests on a number of connections, each opened again when the server closes it. */
export interface Flood {
  readonly port: number;
  readonly tls?: boolean;
  /** The protocol that is negotiated with TLS (ALPN). */
  readonly protocol?: string;
  readonly connections: number;
  /** Makes a connection ready for requests. */
  readonly greet?: (socket: Socket) => Promise<void>;
  /** Gives what is sent next on a connection. */
  readonly next: (socket: Socket) => Burst;
  readonly requestsPerS?: number;
}

/** Connections opened again and again. Each is used once and closed soon. */
export interface Connects {
  readonly port: number;
  readonly tls?: boolean;
  readonly perS: number;
  /** Uses a connection that has been opened. */
  readonly use?: (socket: Socket) => Promise<void>;
  /** After how long a connection is closed if the server has not closed it. */
  readonly lingerMs: number;
}

/** Nothing more is sent on a connection while so many bytes wait for the server to read them. */
const MAX_UNREAD_BYTES = 256 * 1024;
const MAX_OPENING_PER_TICK = 10;
const MAX_OPEN = 500;

/** Floods until the run's signal aborts. */
export async function flood(
  { port, tls = false, protocol, connections, greet, next, requestsPerS = STRANGER_RATE.requestsPerS }: Flood,
  { addresses, sent, signal }: AttackRun,
): Promise<void> {
  const address = inTurn(addresses);
  const ready = new Set<Socket>();
  const open = new Set<Socket>();
  const openOne = () => {
    const socket = dial({ port, tls, protocol, localAddress: address() });
    sent.connections += 1;
    open.add(socket);
    socket.once('close', () => {
      ready.delete(socket);
      open.delete(socket);
    });
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      const greeted = greet?.(socket) ?? Promise.resolve();
      greeted.then(() => socket.resume() && ready.add(socket)).catch(() => socket.destroy());
    });
  };
  const requests = new Pace(requestsPerS);
  const bytes = new Pace(STRANGER_RATE.bytesPerS);
  await everyTick(signal, (seconds) => {
    for (let opened = 0; open.size < connections && opened < MAX_OPENING_PER_TICK; opened += 1) openOne();
    requests.renew(seconds);
    bytes.renew(seconds);
    for (const socket of ready) socket.cork();
    for (let wrote = true; wrote; ) {
      wrote = false;
      for (const socket of ready) {
        if (!requests.isOpen || !bytes.isOpen) break;
        if (!socket.writable || socket.writableLength > MAX_UNREAD_BYTES) continue;
        const burst = next(socket);
        socket.write(burst.bytes);
        requests.spend(burst.requests);
        bytes.spend(burst.bytes.length);
        sent.requests += burst.requests;
        sent.bytes += burst.bytes.length;
        wrote = true;
      }
    }
    for (const socket of ready) socket.uncork();
  });
  for (const socket of open) hangUp(socket);
}

/** Connects until the run's signal aborts. */
export async function connects(
  { port, tls = false, perS, use, lingerMs }: Connects,
  { addresses, sent, signal }: AttackRun,
): Promise<void> {
  const address = inTurn(addresses);
  const open = new Set<Socket>();
  const pace = new Pace(perS);
  await everyTick(signal, (seconds) => {
    for (pace.renew(seconds); pace.isOpen && open.size < MAX_OPEN; pace.spend(1)) {
      const socket = dial({ port, tls, localAddress: address() });
      open.add(socket);
      sent.connections += 1;
      const timer = setTimeout(() => hangUp(socket), lingerMs);
      socket.once(tls ? 'secureConnect' : 'connect', () => {
        void use?.(socket).catch(() => socket.destroy());
        socket.resume();
      });
      socket.once('close', () => {
        clearTimeout(timer);
        sent.bytes += socket.bytesWritten;
        open.delete(socket);
      });
    }
  });
  for (const socket of open) hangUp(socket);
}

/** Begins to connect. The socket is closed when something fails. */
export function dial({ port, tls, protocol, localAddress }: Dialled): Socket {
  const options = { port, host: '127.0.0.1', localAddress, noDelay: true };
  const secure = {
    ...options,
    rejectUnauthorized: false,
    ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
  };
  const socket = tls ? connectTls(secure) : connect(options);
  socket.on('error', () => {}); // `close` follows
  return socket;
}

/** Closes a socket, with a reset where that is possible: nothing waits for the server then, and the port is free at once. */
function hangUp(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

interface Dialled {
  readonly port: number;
  readonly tls: boolean;
  readonly protocol?: string | undefined;
  readonly localAddress: string;
}
