/**
 * A proxy between a test's client and a server on this machine. It can break connections, or stop forwarding without closing them.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A running proxy. */
export interface TcpProxy {
  readonly port: number;
  /** Whether answers are being held back. */
  readonly isMuted: boolean;
  /** Calls a function with the text that each client sends, before it is forwarded, until the returned object is disposed. */
  onRequest(listener: (bytes: string) => unknown): Disposable;
  /** Replaces what clients send from now on by text of the same length. Each piece that is received is replaced as a whole. */
  rewrite(change: (bytes: string) => string): void;
  /** Holds back what the server answers from now on, on every connection. */
  muteAnswers(muted: boolean): void;
  /**
   * Stops forwarding, in both directions, on each connection on which the client has sent a text that matches. Neither side is notified, as when
   * a cable is cut or a firewall has forgotten the connection. Returns the number of these connections.
   */
  blackHole(sent: RegExp): number;
  /** Resets every connection. New ones are accepted. */
  breakAll(): void;
  /** Resets every connection, and forwards new ones to another port of this machine. */
  leadTo(port: number): void;
  /** Resets every connection and accepts no more. */
  close(): void;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  /** The beginning of what the client has sent. */
  sent: string;
  /** Whether nothing is forwarded any more. */
  isDead: boolean;
}

/** Bytes of a connection's beginning that are kept. */
const KEPT_BYTES = 16_384;

/** Starts a proxy to a port of this machine. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const connections = new Set<Connection>();
  const listeners = new Set<(bytes: string) => unknown>();
  let target = port;
  let isMuted = false;
  let change = (bytes: string): string => bytes;

  const listening = createServer((client) => {
    const server = connect(target, '127.0.0.1');
    const connection: Connection = { client, server, sent: '', isDead: false };
    connections.add(connection);
    client.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      if (connection.sent.length < KEPT_BYTES) connection.sent += text;
      for (const listener of listeners) listener(text);
      server.write(Buffer.from(change(text), 'latin1'));
    });
    server.on('data', (bytes: Buffer) => {
      if (!isMuted) client.write(bytes);
    });
    const end = () => {
      connections.delete(connection);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', end);
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');

  function breakAll(): void {
    for (const { client, server } of connections) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    isMuted = false;
  }

  return {
    port: address.port,
    get isMuted() {
      return isMuted;
    },
    onRequest(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    rewrite: (changing) => {
      change = changing;
    },
    muteAnswers: (muted) => {
      isMuted = muted;
    },
    blackHole(sent) {
      const found = [...connections].filter((connection) => !connection.isDead && sent.test(connection.sent));
      for (const connection of found) {
        connection.isDead = true;
        for (const socket of [connection.client, connection.server]) socket.removeAllListeners('data').pause();
      }
      return found.length;
    },
    breakAll,
    leadTo(other) {
      target = other;
      breakAll();
    },
    close() {
      listening.close();
      breakAll();
    },
  };
}
