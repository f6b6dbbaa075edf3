/**
 * Closes HTTP/2 connections that flood this server with frames that Node does not report, or with requests that they cancel at once.
 */
import type { Server } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Flood, Flooders } from './flooders.ts';
import { SessionAllowance } from './session-allowance.ts';

/** How often connections are checked. */
const CHECK_EVERY_MS = 100;
/** The most connections that are checked each time, in turn. With more of them, a round through all takes longer, and no more CPU. */
const MAX_CHECKED = 2000;

/** What {@link closeFloodingSessions} needs. */
export interface SessionFloodsOptions {
  readonly clock: Clock;
  readonly flooders: Flooders;
  /** The connections of a trusted proxy are not watched, because they carry the requests of many clients. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** Watches the connections of a server until it closes. */
export function closeFloodingSessions(server: Server, { clock, flooders, isTrustedProxy }: SessionFloodsOptions): void {
  /** In the order of their last check, the oldest first. */
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
    // A copy, because each connection moves to the end of the set and would be checked again.
    for (const watch of watches.values().take(MAX_CHECKED).toArray()) {
      watches.delete(watch);
      watches.add(watch);
      watch.check(now);
    }
  }, CHECK_EVERY_MS).unref();
  server.once('close', () => clearInterval(timer));
}

/** The errors with which Node closes a connection: too many invalid frames, or unread answers to pings and settings. */
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
  #checkedAt: Milliseconds;

  constructor(
    session: ServerHttp2Session,
    { address, flooders, now }: { readonly address: string; readonly flooders: Flooders; readonly now: Milliseconds },
  ) {
    this.#session = session;
    this.#flooders = flooders;
    this.#address = address;
    this.#checkedAt = now;
    session.on('stream', (stream: ServerHttp2Stream) => this.#follow(stream));
    session.once('error', (error: NodeJS.ErrnoException) => {
      // Node has closed the connection already.
      if (isFlood(error)) flooders.add(address, 'invalid_frames');
    });
  }

  /** Closes the connection if it has sent more than its requests account for. */
  check(now: Milliseconds): void {
    if (this.#session.destroyed) return;
    const seconds = (now - this.#checkedAt) / 1000;
    this.#checkedAt = now;
    if (this.#allowance.read(this.#session.socket.bytesRead, seconds)) this.#close('bytes_without_requests');
  }

  #follow(stream: ServerHttp2Stream): void {
    this.#allowance.begun({ hasBody: !stream.endAfterHeaders });
    stream.once('close', () => {
      // A stream that ends with its connection was not cancelled.
      if (this.#session.closed || this.#session.destroyed) return;
      const isFlooder = this.#flooders.has(this.#address);
      if (this.#allowance.ended({ isAnswered: stream.headersSent, isFlooder })) this.#close('requests_cancelled');
    });
  }

  #close(flood: Flood): void {
    this.#flooders.add(this.#address, flood);
    this.#session.destroy();
  }
}
