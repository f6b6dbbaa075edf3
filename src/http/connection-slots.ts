/**
 * Shares a limited number of HTTP connections fairly among the networks they come from.
 */
import type { Server, Socket } from 'node:net';
import { FairSlots, type SlotDecision } from '#lib/fair-slots.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Flooders } from './flooders.ts';

/** For how long closed connections are counted before one line is logged for all of them. */
const REPORT_MS = 1000;
/** The most networks that are counted for one line. */
const MAX_COUNTED_NETWORKS = 1000;

/** What {@link ConnectionSlots} needs. */
export interface ConnectionSlotsOptions {
  /** How many connections may be open at the same time. */
  readonly limit: number;
  /** Hosts whose connections are closed at once. */
  readonly flooders: Pick<Flooders, 'has'>;
  readonly isTrustedProxy: (address: string) => boolean;
  readonly logger: Logger;
}

/**
 * Gives each connection a place that counts for the network it comes from. When all are taken, the network with the most loses its oldest
 * connection to a network with fewer. A network that has taken all places gets no more.
 *
 * Each connection of a trusted proxy counts as a network of its own, because it carries the requests of many. It finds a place whenever any
 * network holds two, and never loses it. The same is true of a connection from another node, once a request has shown this.
 */
export class ConnectionSlots {
  readonly #slots: FairSlots<Socket>;
  readonly #options: ConnectionSlotsOptions;
  /** The connections of single clients, by their remote address and port. */
  readonly #clients = new Map<string, Socket>();
  #proxied = 0;
  /** How many connections were closed since the last log line, and the networks they came from, as far as these are counted. */
  #closed = 0;
  readonly #networks = new Set<string>();

  constructor(options: ConnectionSlotsOptions) {
    this.#slots = new FairSlots(options.limit);
    this.#options = options;
  }

  /** Gives each new connection of a server a place, and closes connections that get none. */
  guard(server: Server): void {
    // This listener runs before Node's own, so a connection that gets no place costs neither a handshake nor a parser.
    server.prependListener('connection', (socket: Socket) => this.#admit(socket));
  }

  /** Lets a connection count as a network of its own from now on. @param carrier its TCP or TLS socket */
  trust(carrier: Pick<Socket, 'remoteAddress' | 'remotePort'>): void {
    const client = nameOf(carrier);
    const socket = this.#clients.get(client);
    if (socket === undefined) return;
    this.#clients.delete(client);
    this.#enterAlone(socket);
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
    const client = nameOf(socket);
    socket.once('close', () => {
      this.#slots.leave(socket);
      if (this.#clients.get(client) === socket) this.#clients.delete(client);
    });
    if (admission.evicted !== undefined) this.#close(admission.evicted);
  }

  #enter(socket: Socket, address: string): SlotDecision<Socket> {
    if (this.#options.isTrustedProxy(address)) return this.#enterAlone(socket);
    const decision = this.#slots.enter(socket, address);
    if (decision.admitted) this.#clients.set(nameOf(socket), socket);
    return decision;
  }

  #enterAlone(socket: Socket): SlotDecision<Socket> {
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

const nameOf = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string =>
  `${remoteAddress} ${remotePort}`;
