/**
 * Cuts HTTP/2 connections that flood this server with what Node shows to nobody, or with requests that they take back at once.
 */
import type { Server } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Flood, Flooders } from './flooders.ts';
import { SessionAllowance } from './session-allowance.ts';

/** How often connections are looked at. */
const LOOK_MS = 100;
/** Connections that are looked at each time, in turn: a server with more of them takes longer to see all, and no more CPU. */
const LOOKED_AT = 2000;

/** What {@link cutSessionFloods} needs. */
export interface SessionFloodsOptions {
  readonly clock: Clock;
  readonly flooders: Flooders;
  /** Whose connections are not watched, as they carry the requests of many. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** Watches the connections of a server until it closes. */
export function cutSessionFloods(server: Server, { clock, flooders, isTrustedProxy }: SessionFloodsOptions): void {
  /** The one that was looked at longest ago comes first. */
  const watches = new Set<SessionWatch>();
  server.on('session', (session: ServerHttp2Session) => {
    const { remoteAddress } = session.socket;
    if (remoteAddress === undefined || isTrustedProxy(remoteAddress)) return;
    const watch = new SessionWatch(session, { address: remoteAddress, flooders, now: clock.monotonic() });
    watches.add(watch);
    session.once('close', () => watches.delete(watch));
  });
  const timer = setInterval(() => {
    const now = clock.monotonic();
    // A list of its own, since the set changes: else one would be looked at again and again.
    for (const watch of watches.values().take(LOOKED_AT).toArray()) {
      watches.delete(watch);
      watches.add(watch);
      watch.look(now);
    }
  }, LOOK_MS).unref();
  server.once('close', () => clearInterval(timer));
}

/** By which Node says that it cut a connection: too many frames that are not allowed, or answers that nobody takes (pings, settings). */
const TOO_MANY_INVALID_FRAMES = 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES';
const NGHTTP2_ERR_FLOODED = -904;

const isFlood = ({ code, errno }: NodeJS.ErrnoException) =>
  code === TOO_MANY_INVALID_FRAMES || errno === NGHTTP2_ERR_FLOODED;

/** One connection that is watched. */
class SessionWatch {
  readonly #session: ServerHttp2Session;
  readonly #flooders: Flooders;
  readonly #address: string;
  readonly #allowance = new SessionAllowance();
  #lookedAt: Milliseconds;

  constructor(
    session: ServerHttp2Session,
    { address, flooders, now }: { readonly address: string; readonly flooders: Flooders; readonly now: Milliseconds },
  ) {
    this.#session = session;
    this.#flooders = flooders;
    this.#address = address;
    this.#lookedAt = now;
    session.on('stream', (stream: ServerHttp2Stream) => this.#follow(stream));
    session.once('error', (error: NodeJS.ErrnoException) => {
      // Node has cut it already.
      if (isFlood(error)) flooders.add(address, 'invalid_frames');
    });
  }

  /** Cuts the connection if it has sent more than its requests explain. */
  look(now: Milliseconds): void {
    if (this.#session.destroyed) return;
    const seconds = (now - this.#lookedAt) / 1000;
    this.#lookedAt = now;
    if (this.#allowance.read(this.#session.socket.bytesRead, seconds)) this.#cut('bytes_without_requests');
  }

  #follow(stream: ServerHttp2Stream): void {
    this.#allowance.begun({ hasBody: !stream.endAfterHeaders });
    stream.once('close', () => {
      // What ends with its connection was not taken back.
      if (this.#session.closed || this.#session.destroyed) return;
      const isFlooder = this.#flooders.has(this.#address);
      if (this.#allowance.ended({ isAnswered: stream.headersSent, isFlooder })) this.#cut('requests_taken_back');
    });
  }

  #cut(flood: Flood): void {
    this.#flooders.add(this.#address, flood);
    this.#session.destroy();
  }
}
