/**
 * The RTMP server: listens, with TLS and without, limits how many come in by either way together, and looks after all
 * connections with one timer.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { IngestAddress, IngestServer, PublishGate } from '#ingest/ingest.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { AddressCounts } from './address-counts.ts';
import { MAX_PUBLISHES_SHOWN_PER_MINUTE, type RtmpScheme, type RtmpSettings, SWEEP_MS } from './config.ts';
import { Connection, type ConnectionOwner } from './connection.ts';

/** What the server is given. */
export interface RtmpServerOptions {
  readonly settings: RtmpSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'ingestBytes'>;
  /** Shown to RTMPS; without it that is not listened for. */
  readonly certificate?: Pick<CertificateWatch, 'current'> | undefined;
}

/**
 * Starts to listen. Disposing the server ends every publish as one that may come back, and tells encoders so.
 * Rejects with the system's error when the port cannot be had.
 */
export async function listenRtmp(options: RtmpServerOptions): Promise<IngestServer> {
  await using parts = new AsyncDisposableStack();
  const server = parts.use(new RtmpServer(options));
  await server.listen();
  parts.move();
  return server;
}

class RtmpServer implements IngestServer, ConnectionOwner {
  readonly #options: RtmpServerOptions;
  readonly #logger: Logger;
  readonly #doors: { readonly scheme: RtmpScheme; readonly server: Server }[] = [];
  readonly #connections = new Set<Connection>();
  readonly #publishing = new Set<Connection>();
  readonly #perAddress = new AddressCounts();
  readonly #lines: CountedLines;
  readonly #shown: TokenBuckets;
  #lastId = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RtmpServerOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ protocol: 'rtmp' });
    this.#lines = new CountedLines(this.#logger);
    this.#shown = new TokenBuckets({ perMinute: MAX_PUBLISHES_SHOWN_PER_MINUTE, clock: options.clock });
  }

  get addresses(): readonly IngestAddress[] {
    return this.#doors.flatMap(({ scheme, server }) => {
      const address = server.address();
      return address === null || typeof address === 'string'
        ? []
        : [{ scheme, host: address.address, port: address.port }];
    });
  }

  async listen(): Promise<void> {
    const { settings, certificate } = this.#options;
    if (settings.rtmpPort !== undefined) {
      await this.#open('rtmp', settings.rtmpPort, (socket) => this.#accept(socket, 'rtmp'));
    }
    if (settings.rtmpsPort !== undefined && certificate !== undefined) {
      // The limits come first: a handshake costs more than all else a stranger can ask of us.
      await this.#open('rtmps', settings.rtmpsPort, (socket) =>
        this.#accept(socket, 'rtmps', () => {
          return new TLSSocket(socket, { isServer: true, secureContext: certificate.current.context });
        }),
      );
    }
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  onAccepted(connection: Connection): void {
    this.#publishing.add(connection);
  }

  onUnpublished(connection: Connection): void {
    this.#publishing.delete(connection);
  }

  onMediaBytes({ scheme }: Connection, bytes: number): void {
    this.#options.metrics.ingestBytes.inc({ protocol: scheme }, bytes);
  }

  onClosed(connection: Connection, fault: string | undefined): void {
    this.#connections.delete(connection);
    this.#publishing.delete(connection);
    this.#perAddress.remove(connection.remoteAddress);
    if (fault !== undefined) this.#noteFailure(fault, connection.scheme, connection.remoteAddress);
  }

  async #open(scheme: RtmpScheme, port: number, accept: (socket: Socket) => void): Promise<void> {
    const server = createServer(accept);
    server.listen({ host: this.#options.settings.rtmpHost, port });
    await once(server, 'listening');
    // Afterwards only accepting can fail (no descriptors left); those who are in stay.
    server.on('error', (error) =>
      this.#lines.note('error', 'accepting connections failed', {}, { example: { err: error } }),
    );
    this.#doors.push({ scheme, server });
  }

  /** @param secure puts TLS over the socket, when that is let in */
  #accept(socket: Socket, scheme: RtmpScheme, secure: () => Socket = () => socket): void {
    const remoteAddress = addressOf(socket);
    const refused = remoteAddress === undefined ? 'gone_before_accept' : this.#overLimit(remoteAddress);
    if (remoteAddress === undefined || refused !== undefined) {
      this.#noteFailure(refused ?? 'gone_before_accept', scheme, remoteAddress);
      socket.on('error', () => {}); // destroyed below; nobody is left to tell
      socket.destroy();
      return;
    }
    const { settings, gate, clock } = this.#options;
    this.#perAddress.add(remoteAddress);
    this.#lastId += 1;
    const connection = new Connection(secure(), {
      id: this.#lastId,
      owner: this,
      settings,
      gate,
      logger: this.#logger.child({ connection: this.#lastId, remoteAddress, scheme }),
      lines: this.#lines,
      isShown: () => this.#shown.take(networkOf(remoteAddress)).allowed,
      scheme,
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
    if (this.#perAddress.of(remoteAddress) >= rtmpMaxPerAddress) return 'too_many_from_one_address';
    const unauthenticated = this.#connections.size - this.#publishing.size;
    return unauthenticated >= rtmpMaxUnauthenticated ? 'too_many_unauthenticated' : undefined;
  }

  #sweep(): void {
    const now = this.#options.clock.monotonic();
    for (const connection of this.#connections) connection.tick(now);
  }

  /** OpenSSL has hundreds of words for what strangers send it: they count as one kind. */
  #noteFailure(fault: string, scheme: RtmpScheme, address: string | undefined): void {
    this.#lines.note(
      'warn',
      'connections failed',
      { fault: fault.startsWith('ERR_') ? 'tls_failed' : fault },
      { address, example: { remoteAddress: address, scheme, detail: fault } },
    );
  }

  /** Connections close by their own time limit, which the sweeper keeps. */
  async #close(): Promise<void> {
    const closed = this.#doors.map(({ server }) => once(server, 'close'));
    for (const { server } of this.#doors) server.close();
    for (const connection of this.#connections) connection.shutDown();
    await Promise.all(closed);
    clearInterval(this.#sweeper);
    this.#lines[Symbol.dispose]();
  }
}

/** The peer's address, IPv4 also when it came through an IPv6 socket; undefined when the peer is gone already. */
function addressOf(socket: Socket): string | undefined {
  return socket.remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/, '');
}
