/**
 * Requests that wait for media yet to come: how many may, and that none goes on waiting for a viewer who left.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MillraceError } from '#domain/errors.ts';
import { hasLeft, pipelineOf } from './viewer-connection.ts';

/** The reason a hold is aborted with when its connection has closed: made once, since making an error costs a stack trace. */
const VIEWER_LEFT = new Error('the viewer left');

/** No player sends a request before it has the answer to the one before, but who does could take every place there is. */
const MAX_PIPELINED = 8;

/** Every request being held by this process. */
export class HeldRequests {
  readonly #waiting = new Set<AbortController>();
  /** How many of them came over each connection of HTTP/1.1. */
  readonly #pipelined = new WeakMap<Socket, number>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many there are. */
  get count(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for `ask`, no longer than the response's connection stays open.
   * @returns what `ask` gave; undefined when the viewer left: nobody is there to answer
   * @throws {MillraceError} `too_many_viewers` when as many wait as may, at all or on one connection; `shutting_down` after
   *   {@link release}
   */
  async hold<Answer>(
    response: ServerResponse,
    ask: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    if (hasLeft(response)) return undefined;
    if (this.#waiting.size >= this.#limit) {
      throw new MillraceError('too_many_viewers', 'Too many requests wait for media at this server; try again soon.', {
        retryAfterS: 1,
      });
    }
    const pipeline = pipelineOf(response);
    const ahead = pipeline === undefined ? 0 : (this.#pipelined.get(pipeline) ?? 0);
    if (ahead >= MAX_PIPELINED) {
      throw new MillraceError('too_many_viewers', 'Too many requests wait on this connection; send them one by one.', {
        retryAfterS: 1,
      });
    }
    if (pipeline !== undefined) this.#pipelined.set(pipeline, ahead + 1);
    const controller = new AbortController();
    const leave = () => controller.abort(VIEWER_LEFT);
    response.once('close', leave);
    this.#waiting.add(controller);
    try {
      return await ask(controller.signal);
    } catch (error) {
      if (error === VIEWER_LEFT) return undefined;
      throw error;
    } finally {
      this.#waiting.delete(controller);
      if (pipeline !== undefined) this.#pipelined.set(pipeline, (this.#pipelined.get(pipeline) ?? 1) - 1);
      response.off('close', leave);
    }
  }

  /** Lets go of everyone waiting, with a 503: the server is about to close. */
  release(): void {
    const reason = new MillraceError('shutting_down', 'The server is shutting down; try again.', { retryAfterS: 1 });
    for (const controller of this.#waiting) controller.abort(reason);
  }
}
