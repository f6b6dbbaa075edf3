/**
 * Answers for what runs on another node: asks that node, and hands its answer on as it comes.
 *
 * Any node can so be asked for any stream, also behind one name for all of them. A request that another node sent on is never sent on
 * again.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Agent, type Dispatcher } from 'undici';
import { MillraceError } from '#domain/errors.ts';
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { LiveDirectory } from '#live/live.ts';
import type { HeldRequests } from './held-requests.ts';
import type { Owners } from './owners.ts';
import { isMediaPath, isPlaybackId } from './resource-name.ts';
import type { ViewerNames } from './viewer.ts';
import { cutOffWhenStuck } from './viewer-connection.ts';

const CONNECT_TIMEOUT_MS = 2000;
/** An answer stops coming for so long: the node is stuck, or cut off. */
const BODY_TIMEOUT_MS = 10_000;
/** Beyond what the other node holds a request for. */
const ANSWER_MARGIN_MS = 5000;
/** Shorter than nodes keep idle connections, so that none is used while it is being closed. */
const KEEP_ALIVE_MS = 30_000;

/** A request line may name a server too (RFC 9112 §3.2.2), which is for proxies to obey, not for owners to read. */
const ABSOLUTE_FORM = /^https?:\/\/[^/]*/i;

/** What an answer depends on; all else a viewer sends is its own affair. */
const REQUEST_HEADERS = ['accept-encoding', 'range', 'if-range', 'if-none-match'] as const;
/** Of one connection, not of the answer (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What a proxy is made with. */
export interface PeerProxyOptions {
  readonly live: LiveDirectory;
  readonly owners: Owners;
  readonly viewers: ViewerNames;
  /** Bounds how many requests there are at a time, and ends them with their viewers. */
  readonly held: HeldRequests;
  /** How many connections to one node there may be: one for each request under way. */
  readonly maxConnections: number;
  /** How long the other node may hold a request. */
  readonly longestHoldMs: number;
}

interface PlaybackParams {
  readonly playbackId?: string;
  readonly mediaPath?: string;
}

/** Stands before the routes of playback, and answers for those whose media is elsewhere. */
export class PeerProxy implements AsyncDisposable {
  readonly #options: PeerProxyOptions;
  readonly #agent: Agent;

  constructor(options: PeerProxyOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connections: options.maxConnections,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: options.longestHoldMs + ANSWER_MARGIN_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
  }

  /**
   * Answers when another node has what is asked for; otherwise leaves the request to its route.
   * @returns the reply once it is answered
   * @throws {MillraceError} `node_unreachable`, `store_unavailable`, and those of {@link HeldRequests.hold}
   */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const { owners, viewers } = this.#options;
    const { playbackId, mediaPath } = request.params as PlaybackParams;
    if (playbackId === undefined || !isPlaybackId(playbackId)) return undefined;
    if (mediaPath !== undefined && !isMediaPath(mediaPath)) return undefined;
    if (this.#runsHere(playbackId, mediaPath) || viewers.forwarded(request) !== undefined) return undefined;
    const origin = await owners.find(playbackId, mediaPath);
    if (origin === undefined) return undefined;
    try {
      await this.#options.held.hold(reply.raw, (signal) => this.#pass(origin, request, reply, signal));
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'node_unreachable') owners.forget(playbackId, mediaPath);
      throw error;
    }
    return reply.hijack(); // also when the viewer left before there was anything to answer
  }

  /** Ends every request to other nodes. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.destroy();
  }

  /** What ended here may go on elsewhere; the files of a session never move. */
  #runsHere(playbackId: PlaybackId, mediaPath: MediaPath | undefined): boolean {
    const { live } = this.#options;
    if (mediaPath !== undefined) return live.watchPath(playbackId, mediaPath) !== undefined;
    const watchable = live.watch(playbackId);
    return watchable !== undefined && watchable.phase !== 'ended';
  }

  async #pass(origin: string, request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Promise<void> {
    const { raw } = reply;
    const options: Dispatcher.RequestOptions = {
      origin,
      path: (request.raw.url ?? '').replace(ABSOLUTE_FORM, ''),
      method: request.method as Dispatcher.HttpMethod,
      headers: { ...this.#headersOf(request) },
      signal,
    };
    try {
      await this.#agent.stream(options, ({ statusCode, headers }) => {
        reply.hijack();
        cutOffWhenStuck(raw);
        return raw.writeHead(statusCode, endToEnd(headers));
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // A part of an answer cannot be taken back: its viewer sees the connection close.
      if (raw.headersSent) return;
      throw new MillraceError('node_unreachable', 'The server that has this stream does not answer; try again soon.', {
        cause: error,
        retryAfterS: 1,
      });
    }
  }

  #headersOf(request: FastifyRequest): Record<string, string> {
    const headers: Record<string, string> = { 'x-request-id': request.id, ...this.#options.viewers.header(request) };
    for (const name of REQUEST_HEADERS) {
      const value = request.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    return headers;
  }
}

function endToEnd<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}
