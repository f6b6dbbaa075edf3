/**
 * Requests that wait for media that does not exist yet. Their number is limited, the places are shared fairly among addresses, and a
 * request stops waiting when its viewer leaves.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MillraceError } from '#domain/errors.ts';
import type { Waiting } from '#hls/hls.ts';
import { FairSlots } from '#lib/fair-slots.ts';
import { hasLeft, pipelineOf } from './viewer-connection.ts';

// The errors of many requests are made once, because making an error costs a stack trace.
/** The reason with which a hold is aborted when its connection has closed. */
const VIEWER_LEFT = new Error('the viewer left');
const TOO_MANY = new MillraceError(
  'too_many_viewers',
  'Too many requests wait for media on this server; try again soon.',
  { retryAfterS: 1 },
);
const TOO_MANY_PIPELINED = new MillraceError(
  'too_many_viewers',
  'Too many requests wait on this connection; send each request after the answer to the previous one.',
  { retryAfterS: 1 },
);
const SHUTTING_DOWN = new MillraceError('shutting_down', 'The server is shutting down; try again.', { retryAfterS: 1 });

/** No player sends a request before it has the answer to the previous one. A client that does could otherwise take all places. */
const MAX_PIPELINED = 8;

/** The held requests of this process. */
export class HeldRequests {
  readonly #places: FairSlots<Hold>;
  /** The number of held requests on each HTTP/1.1 connection. */
  readonly #pipelined = new WeakMap<Socket, number>();

  /**
   * @param limit the number of requests that may wait; when all places are taken, the network with the most loses its oldest request to
   *   another network
   */
  constructor(limit: number) {
    this.#places = new FairSlots(limit);
  }

  /** The number of held requests. */
  get count(): number {
    return this.#places.size;
  }

  /**
   * Waits for the answer that `ask` gives. The request takes a place only when `ask` reads the signal, so a request that can be answered at
   * once is always answered. It waits only while the response's connection is open.
   * @param from the address that the place is charged to, or another name for the sender
   * @returns the answer; undefined when the viewer has left, so that there is nobody to answer
   * @throws {MillraceError} `too_many_viewers` when there is no free place, in total or on this connection, or when the place was given to
   *   another network; `shutting_down` after {@link release}
   */
  async hold<Answer>(
    response: ServerResponse,
    from: string,
    ask: (waiting: Waiting) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (hasLeft(response)) return undefined;
    using hold = new Hold(
      response,
      () => this.#enter(hold, from),
      () => this.#leave(hold),
    );
    try {
      return await ask(hold);
    } catch (error) {
      if (error === VIEWER_LEFT) return undefined;
      throw error;
    }
  }

  /** Ends all held requests with a 503, because the server is about to close. */
  release(): void {
    for (const hold of this.#places.holders()) hold.abort(SHUTTING_DOWN);
  }

  #enter(hold: Hold, from: string): void {
    const { pipeline } = hold;
    const ahead = pipeline === undefined ? 0 : (this.#pipelined.get(pipeline) ?? 0);
    if (ahead >= MAX_PIPELINED) throw TOO_MANY_PIPELINED;
    const admission = this.#places.enter(hold, from);
    if (!admission.admitted) throw TOO_MANY;
    if (pipeline !== undefined) this.#pipelined.set(pipeline, ahead + 1);
    admission.evicted?.abort(TOO_MANY);
  }

  #leave(hold: Hold): void {
    const { pipeline } = hold;
    this.#places.leave(hold);
    if (pipeline !== undefined) this.#pipelined.set(pipeline, (this.#pipelined.get(pipeline) ?? 1) - 1);
  }
}

/** One request that may have to wait. It takes its place and watches its connection from the moment at which its signal is read. */
class Hold implements Waiting, Disposable {
  readonly #response: ServerResponse;
  readonly #enter: () => void;
  readonly #leave: () => void;
  #controller: AbortController | undefined;
  readonly #viewerLeft = () => this.abort(VIEWER_LEFT);

  constructor(response: ServerResponse, enter: () => void, leave: () => void) {
    this.#response = response;
    this.#enter = enter;
    this.#leave = leave;
  }

  get pipeline(): Socket | undefined {
    return pipelineOf(this.#response);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#enter();
      this.#controller = new AbortController();
      if (hasLeft(this.#response)) this.#viewerLeft();
      else this.#response.once('close', this.#viewerLeft);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#controller?.abort(reason);
  }

  [Symbol.dispose](): void {
    if (this.#controller === undefined) return;
    this.#leave();
    this.#response.off('close', this.#viewerLeft);
  }
}
