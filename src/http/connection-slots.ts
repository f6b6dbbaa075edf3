/**
 * Shares the HTTP connections this server takes fairly among the networks they come from.
 */
import type { Server, Socket } from 'node:net';
import { type Admission, FairSlots } from '#lib/fair-slots.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Flooders } from './flooders.ts';

/** How often closed connections are told of: once for all of them. */
const REPORT_MS = 1000;
const MAX_COUNTED_NETWORKS = 1000;

/** What {@link ConnectionSlots} needs. */
export interface ConnectionSlotsOptions {
  /** Connections open at the same time. */
  readonly limit: number;
  /** Hosts that get no place. */
  readonly flooders: Pick<Flooders, 'has'>;
  readonly isTrustedProxy: (address: string) => boolean;
  readonly logger: Logger;
}

/**
 * The places of connections, by the address of their sockets. When all are taken, the network with the most gives up its oldest
 * connection to one with fewer; whoever took everything is refused more.
 *
 * Each connection of a trusted proxy is counted as a network of its own, since it carries the requests of many: it finds a place
 * whenever any network holds two, and never loses it.
 */
export class ConnectionSlots {
  readonly #slots: FairSlots<Socket>;
  readonly #options: ConnectionSlotsOptions;
  #proxied = 0;
  /** Connections closed and not told yet, and the networks they came from, as far as these are counted. */
  #closed = 0;
  readonly #networks = new Set<string>();

  constructor(options: ConnectionSlotsOptions) {
    this.#slots = new FairSlots(options.limit);
    this.#options = options;
  }

  /** Gives places to the connections of a server from now on, and closes those that get none. */
  guard(server: Server): void {
    // Before Node looks at the connection: what gets no place costs neither a handshake nor a parser.
    server.prependListener('connection', (socket: Socket) => this.#admit(socket));
  }

  #admit(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    if (this.#options.flooders.has(remoteAddress)) {
      socket.destroy();
      return;
    }
    const admission = this.#enter(socket, remoteAddress);
    if (!admission.admitted) {
      this.#close(socket);
      return;
    }
    socket.once('close', () => this.#slots.leave(socket));
    if (admission.evicted !== undefined) this.#close(admission.evicted);
  }

  #enter(socket: Socket, address: string): Admission<Socket> {
    if (!this.#options.isTrustedProxy(address)) return this.#slots.enter(socket, address);
    this.#proxied += 1;
    return this.#slots.enter(socket, `proxy ${this.#proxied}`);
  }

  #close(socket: Socket): void {
    this.#closed += 1;
    if (this.#networks.size < MAX_COUNTED_NETWORKS) this.#networks.add(networkOf(socket.remoteAddress ?? ''));
    socket.destroy();
    if (this.#closed === 1) setTimeout(() => this.#report(), REPORT_MS).unref();
  }

  #report(): void {
    const { logger, limit } = this.#options;
    const counts = { closed: this.#closed, networks: this.#networks.size, limit };
    logger.warn(counts, 'connections closed: MILLRACE_MAX_HTTP_CONNECTIONS reached');
    this.#closed = 0;
    this.#networks.clear();
  }
}
