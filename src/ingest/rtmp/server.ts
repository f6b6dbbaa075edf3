/**
 * The RTMP server: listens, limits how many come in, and looks after all connections with one timer.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { IngestServer, PublishGate } from '#ingest/ingest.ts';
import type { Clock } from '#lib/clock.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { type RtmpSettings, SWEEP_MS } from './config.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { FaultCounter } from './fault-counter.ts';

/** What the server is given. */
export interface RtmpServerOptions {
  readonly settings: RtmpSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'ingestBytes'>;
}

/**
 * Starts to listen. Disposing the server ends every publish as one that may come back, and tells encoders so.
 * Rejects with the system's error when the port cannot be had.
 */
export async function listenRtmp(options: RtmpServerOptions): Promise<IngestServer> {
  const server = new RtmpServer(options);
  await server.listen();
  return server;
}

class RtmpServer implements IngestServer, ConnectionOwner {
  readonly protocol = 'rtmp';
  readonly #options: RtmpServerOptions;
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #publishing = new Set<Connection>();
  readonly #perAddress = new Map<string, number>();
  readonly #faults = new FaultCounter();
  #lastId = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #reportedAt = 0;
  #closing: Promise<void> | undefined;

  constructor(options: RtmpServerOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ protocol: this.protocol });
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get address(): { readonly host: string; readonly port: number } {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the RTMP server does not listen');
    return { host: address.address, port: address.port };
  }

  async listen(): Promise<void> {
    const { rtmpHost: host, rtmpPort: port } = this.#options.settings;
    this.#server.listen({ host, port });
    await once(this.#server, 'listening');
    // Afterwards only accepting can fail (no descriptors left); those who are in stay.
    this.#server.on('error', (error) => this.#logger.error({ err: error }, 'accepting connections failed'));
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  onPublishing(connection: Connection, isPublishing: boolean): void {
    if (isPublishing) this.#publishing.add(connection);
    else this.#publishing.delete(connection);
  }

  onMediaBytes(bytes: number): void {
    this.#options.metrics.ingestBytes.inc({ protocol: this.protocol }, bytes);
  }

  onClosed(connection: Connection, fault: string | undefined): void {
    this.#connections.delete(connection);
    this.#publishing.delete(connection);
    const left = (this.#perAddress.get(connection.remoteAddress) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(connection.remoteAddress);
    else this.#perAddress.set(connection.remoteAddress, left);
    if (fault !== undefined) this.#faults.count(fault);
  }

  #accept(socket: Socket): void {
    const remoteAddress = addressOf(socket);
    const refused = remoteAddress === undefined ? 'gone_before_accept' : this.#overLimit(remoteAddress);
    if (remoteAddress === undefined || refused !== undefined) {
      this.#faults.count(refused ?? 'gone_before_accept');
      socket.on('error', () => {}); // destroyed below; nobody is left to tell
      socket.destroy();
      return;
    }
    const { settings, gate, clock } = this.#options;
    this.#perAddress.set(remoteAddress, (this.#perAddress.get(remoteAddress) ?? 0) + 1);
    this.#lastId += 1;
    const connection = new Connection(socket, {
      owner: this,
      settings,
      gate,
      logger: this.#logger.child({ connection: this.#lastId, remoteAddress }),
      remoteAddress,
      openedAt: clock.monotonic(),
    });
    this.#connections.add(connection);
  }

  /** The limit that one more connection from an address would break. */
  #overLimit(remoteAddress: string): string | undefined {
    const { rtmpMaxConnections, rtmpMaxUnauthenticated, rtmpMaxPerAddress } = this.#options.settings;
    if (this.#closing !== undefined) return 'server_stopping';
    if (this.#connections.size >= rtmpMaxConnections) return 'too_many_connections';
    if ((this.#perAddress.get(remoteAddress) ?? 0) >= rtmpMaxPerAddress) return 'too_many_from_one_address';
    const unauthenticated = this.#connections.size - this.#publishing.size;
    return unauthenticated >= rtmpMaxUnauthenticated ? 'too_many_unauthenticated' : undefined;
  }

  #sweep(): void {
    const now = this.#options.clock.monotonic();
    for (const connection of this.#connections) connection.tick(now);
    if (now - this.#reportedAt < 1000) return;
    this.#reportedAt = now;
    const faults = this.#faults.take();
    if (faults !== undefined) this.#logger.warn({ faults }, 'connections failed');
  }

  /** Connections close by their own time limit, which the sweeper keeps. */
  async #close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const connection of this.#connections) connection.shutDown();
    await closed;
    clearInterval(this.#sweeper);
  }
}

/** The peer's address, IPv4 also when it came through an IPv6 socket; undefined when the peer is gone already. */
function addressOf(socket: Socket): string | undefined {
  return socket.remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/, '');
}
