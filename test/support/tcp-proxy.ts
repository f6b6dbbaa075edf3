/**
 * A proxy between a test's client and a server on this machine, in which connections break or vanish without a word.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A running proxy. */
export interface TcpProxy {
  readonly port: number;
  /** Whether answers are being kept back. */
  readonly isMuted: boolean;
  /** Calls it with what each client sends, as text, before it is passed on, until what it returns is disposed. */
  onRequest(listener: (bytes: string) => unknown): Disposable;
  /** Changes what clients send from now on, as text of the same length; what comes in one piece is changed in one piece. */
  rewrite(change: (bytes: string) => string): void;
  /** Keeps back what the server answers from now on, on every connection. */
  muteAnswers(muted: boolean): void;
  /**
   * Passes on nothing more, in either direction, on the connections on which the client has sent a text that matches. Neither side is notified: this
   * is a cable that was cut, or a firewall that has forgotten the connection. Says on how many it does so from now on.
   */
  blackHole(sent: RegExp): number;
  /** Resets every connection. New ones are taken. */
  breakAll(): void;
  /** Resets every connection, and leads new ones to another port of this machine. */
  leadTo(port: number): void;
  /** Resets every connection and takes no more. */
  close(): void;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  /** What the client has sent, as far as it is kept. */
  sent: string;
  /** Nothing is passed on any more. */
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
