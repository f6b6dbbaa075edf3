/**
 * The RTMP server: listens with and without TLS, applies the same limits to both, and checks the time limits of all connections with one
 * timer.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { IngestAddress, IngestServer, PublishGate } from '#ingest/ingest.ts';
import type { CertificateWatch } from '#lib/certificate-watch.ts';
import type { Clock } from '#lib/clock.ts';
import { everyTick } from '#lib/late-ticks.ts';
import { networkOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import type { Milliseconds } from '#lib/units.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { Admission } from './admission.ts';
import { MAX_PUBLISHES_SHOWN_PER_MINUTE, type RtmpScheme, type RtmpSettings, SWEEP_MS } from './config.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { type TlsCandidate, TlsHandshakes, type TlsOwner } from './tls-handshakes.ts';

/** The options of the server. */
export interface RtmpServerOptions {
  readonly settings: RtmpSettings;
  readonly gate: PublishGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'ingestBytes'>;
  /** The certificate for RTMPS. Without it, the server does not listen for RTMPS. */
  readonly certificate?: Pick<CertificateWatch, 'current'> | undefined;
}

/**
 * Starts listening. Disposing the server ends every publish as `connection_lost`, so that it can be continued, and sends encoders the
 * reason. Rejects with the system's error when a port is not available.
 */
export async function listenRtmp(options: RtmpServerOptions): Promise<IngestServer> {
  await using parts = new AsyncDisposableStack();
  const server = parts.use(new RtmpServer(options));
  await server.listen();
  parts.move();
  return server;
}

class RtmpServer implements IngestServer, ConnectionOwner, TlsOwner {
  readonly #options: RtmpServerOptions;
  readonly #logger: Logger;
  readonly #lines: CountedLines;
  readonly #admission: Admission;
  readonly #tls: TlsHandshakes;
  readonly #shown: TokenBuckets;
  readonly #listeners: { readonly scheme: RtmpScheme; readonly server: Server }[] = [];
  readonly #connections = new Map<number, Connection>();
  #lastId = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RtmpServerOptions) {
    const { settings, clock, logger } = options;
    this.#options = options;
    this.#logger = logger.child({ protocol: 'rtmp' });
    this.#lines = new CountedLines(this.#logger);
    this.#admission = new Admission(settings, clock);
    const timeoutMs = settings.rtmpHandshakeTimeoutS * 1000;
    this.#tls = new TlsHandshakes(this, { timeoutMs, now: clock.monotonic() });
    this.#shown = new TokenBuckets({ perMinute: MAX_PUBLISHES_SHOWN_PER_MINUTE, clock });
  }

  get addresses(): readonly IngestAddress[] {
    return this.#listeners.flatMap(({ scheme, server }) => {
      const address = server.address();
      return address === null || typeof address === 'string'
        ? []
        : [{ scheme, host: address.address, port: address.port }];
    });
  }

  async listen(): Promise<void> {
    const { settings, certificate } = this.#options;
    if (settings.rtmpPort !== undefined) await this.#listenFor('rtmp', settings.rtmpPort);
    if (settings.rtmpsPort !== undefined && certificate !== undefined) {
      await this.#listenFor('rtmps', settings.rtmpsPort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  onAccepted({ id, remoteAddress }: Connection): void {
    this.#admission.accepted(id, remoteAddress);
  }

  onUnpublished({ id, remoteAddress }: Connection): void {
    const decision = this.#admission.unpublished(id, remoteAddress);
    if (!decision.admitted) this.#evict(id, decision.why);
    else this.#evict(decision.evicted);
  }

  onMediaBytes({ scheme }: Connection, bytes: number): void {
    this.#options.metrics.ingestBytes.inc({ protocol: scheme }, bytes);
  }

  onClosed({ id, remoteAddress, scheme }: Connection, fault: string | undefined): void {
    this.#connections.delete(id);
    this.#tls.leave(id);
    this.#admission.leave(id, remoteAddress);
    if (fault !== undefined) this.#noteFailure(fault, scheme, remoteAddress);
  }

  secure(socket: Socket): TLSSocket {
    return new TLSSocket(socket, { isServer: true, secureContext: this.#options.certificate!.current.context });
  }

  onBegun({ id, address, openedAt }: TlsCandidate, secured: TLSSocket): void {
    this.#connect(secured, 'rtmps', { id, address, openedAt });
  }

  onGivenUp({ id, address }: TlsCandidate, why: string | undefined): void {
    this.#admission.leave(id, address);
    if (why !== undefined) this.#noteFailure(why, 'rtmps', address);
  }

  onEvicted(id: number): void {
    this.#evict(id);
  }

  async #listenFor(scheme: RtmpScheme, port: number): Promise<void> {
    const server = createServer((socket) => this.#accept(socket, scheme));
    server.listen({ host: this.#options.settings.rtmpHost, port });
    await once(server, 'listening');
    // From now on only accepting can fail, when no file descriptors are left. Open connections stay.
    server.on('error', (error) =>
      this.#lines.note('error', 'accepting connections failed', {}, { example: { err: error } }),
    );
    this.#listeners.push({ scheme, server });
  }

  #accept(socket: Socket, scheme: RtmpScheme): void {
    const address = addressOf(socket);
    this.#lastId += 1;
    const id = this.#lastId;
    const refused = address === undefined ? 'gone_before_accept' : this.#refusalOf(id, address);
    if (address === undefined || refused !== undefined) {
      this.#noteFailure(refused ?? 'gone_before_accept', scheme, address);
      socket.on('error', () => {}); // the socket is destroyed below, so its errors do not matter
      socket.destroy();
      return;
    }
    const openedAt = this.#options.clock.monotonic();
    this.#startSweeping();
    if (scheme === 'rtmp') this.#connect(socket, scheme, { id, address, openedAt });
    else this.#tls.add({ id, socket, address, isKnown: this.#admission.isKnown(address), openedAt });
  }

  /** Decides on a connection, and may close another one to make room for it. Returns why it is refused. Undefined when it is accepted. */
  #refusalOf(id: number, address: string): string | undefined {
    if (this.#closing !== undefined) return 'server_stopping';
    const decision = this.#admission.enter(id, address);
    if (!decision.admitted) return decision.why;
    this.#evict(decision.evicted);
    return undefined;
  }

  /** Starts RTMP on a connection. @param socket the TLS socket, when it is RTMPS */
  #connect(
    socket: Socket,
    scheme: RtmpScheme,
    { id, address, openedAt }: { readonly id: number; readonly address: string; readonly openedAt: Milliseconds },
  ): void {
    const { settings, gate, clock } = this.#options;
    const connection = new Connection(socket, {
      id,
      owner: this,
      settings,
      gate,
      clock,
      logger: this.#logger.child({ connection: id, remoteAddress: address, scheme }),
      lines: this.#lines,
      isShown: () => this.#shown.take(networkOf(address)).allowed,
      scheme,
      remoteAddress: address,
      openedAt,
    });
    this.#connections.set(id, connection);
  }

  /** Closes a connection without a publish that has to give up its place. Does nothing without an id. */
  #evict(id: number | undefined, why = 'place_needed_by_others'): void {
    if (id === undefined) return;
    this.#tls.evict(id, why);
    this.#connections.get(id)?.evict(why);
  }

  /** Counts a failure. All errors of OpenSSL, which has hundreds of codes for what strangers send it, count as one kind. */
  #noteFailure(fault: string, scheme: RtmpScheme, address: string | undefined): void {
    this.#lines.note(
      'warn',
      'connections failed',
      { fault: fault.startsWith('ERR_') ? 'tls_failed' : fault },
      { address, example: { remoteAddress: address, scheme, detail: fault } },
    );
  }

  #sweep(lateMs: number): void {
    // While this process was held up, peers may have sent what keeps their connections open.
    if (lateMs > 0) return;
    const now = this.#options.clock.monotonic();
    for (const connection of this.#connections.values()) connection.tick(now);
    this.#tls.tick(now);
    // An idle server is not woken up.
    if (this.#connections.size === 0 && this.#tls.isEmpty) this.#stopSweeping();
  }

  #startSweeping(): void {
    if (this.#sweeper !== undefined) return;
    const { clock } = this.#options;
    this.#tls.tick(clock.monotonic());
    this.#sweeper = everyTick(SWEEP_MS, clock, (lateMs) => this.#sweep(lateMs));
  }

  #stopSweeping(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** Stops listening and waits for all connections. Each closes within its own time limit, which the sweeper enforces. */
  async #close(): Promise<void> {
    const closed = this.#listeners.map(({ server }) => once(server, 'close'));
    for (const { server } of this.#listeners) server.close();
    this.#tls.close();
    for (const connection of this.#connections.values()) connection.shutDown();
    await Promise.all(closed);
    this.#stopSweeping();
    this.#lines[Symbol.dispose]();
  }
}

/** The peer's address, as IPv4 even if it came through an IPv6 socket. Undefined when the peer is already gone. */
function addressOf(socket: Socket): string | undefined {
  return socket.remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/, '');
}
