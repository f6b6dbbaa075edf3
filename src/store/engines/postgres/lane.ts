/**
 * A pool of connections for reads or for writes, with limits on how many calls wait and for how long.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientBase, Pool, type PoolClient } from 'pg';
import type { MillraceError } from '#domain/errors.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { within } from '#lib/within.ts';
import { Unchanged, UniqueViolation } from '#store/engine.ts';
import { OutageLog } from '#store/outage-log.ts';
import { outcomeUnknown, storeUnavailable } from '#store/unavailable.ts';
import type { Logger } from '#telemetry/logger.ts';
import { Away, failureOf, isRefusal, reasonOf } from './failure.ts';
import { setUp } from './session.ts';
import type { Target } from './target.ts';

/** Milliseconds after which an unused connection is closed. */
const IDLE_MS = 60_000;

/**
 * The number of attempts for a transaction that is undone because of others, and the pause before the second attempt. The pause doubles
 * each time.
 */
const MAX_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 5;

/** The options of a lane. */
export interface LaneOptions {
  /** The name of the lane in the log: `read`, `write` or `lease`. */
  readonly role: string;
  readonly target: Target;
  /** The largest number of connections. */
  readonly connections: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a call rejects, including the wait for a connection. */
  readonly timeoutMs: number;
  /** The largest number of calls that may wait or run. More are refused. */
  readonly maxPending: number;
  /** Milliseconds that closing waits for running calls. */
  readonly closeTimeoutMs: number;
}

/**
 * The work of a call on its connection. It may be tried again after the server refused it, so it must have changed nothing then.
 * @param committing must be called before anything is sent that makes the changes durable
 */
export type Work<Result> = (client: PoolClient, committing: () => void) => Promise<Result>;

/** Thrown when the connection broke, or the time limit passed, after a commit was sent and before it was answered. */
class Unanswered extends Away {}

/** Thrown when a new connection has no place beside those that work and those that were abandoned. */
class Crowded extends Away {}

/** A pool of connections, which are made when they are needed, and again after they broke. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #outages: OutageLog;
  readonly #backoff = new Backoff({ firstMs: 50, maxMs: 1000 });
  readonly #pool: Pool;
  /** The processes of the server for the connections of the pool. */
  readonly #backends = new WeakMap<ClientBase, number>();
  /**
   * The processes of the server for connections that were closed before their answer, as far as they are known to be at work. A process
   * whose commit waits for a standby or for the disk does not notice that its connection is closed, and has no time limit.
   */
  readonly #abandoned = new Set<number>();
  /** The functions that reject the running calls. */
  readonly #pending = new Set<(error: Error) => void>();
  /** The monotonic time before which no new connection is tried. */
  #retryAt = ms(0);
  #closed: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#outages = new OutageLog(options.logger.child({ lane: options.role }), options.clock);
    this.#pool = new Pool({
      ...options.target.options(),
      // The queries of a transaction are sent without waiting for each answer.
      pipeline: true,
      max: options.connections,
      connectionTimeoutMillis: options.timeoutMs,
      idleTimeoutMillis: IDLE_MS,
      // The pool waits for the returned promise, although its type does not say so.
      onConnect: ((client) => this.#setUp(client)) as (client: ClientBase) => void,
    });
    // A connection that breaks while it is in use fails its call. Without a listener, its error event would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
    this.#pool.on('error', (error) => this.#outages.failed(reasonOf(error)));
  }

  /**
   * Runs one call.
   * @throws {MillraceError} `store_unavailable`, `outcome_unknown`
   * @throws {UniqueViolation}
   * @throws {Unchanged} as thrown by the work
   */
  async run<Result>(work: Work<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw storeUnavailable('the store is closed');
    if (this.#pending.size >= this.#options.maxPending) throw this.#unavailable('too many calls are waiting');
    const { timeoutMs } = this.#options;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    // The promise may reject when nobody waits for it any more.
    aborted.catch(() => {});
    this.#pending.add(reject);
    // Node runs timers first, and the answer may have come while this process was held up. It is read before the call is rejected.
    const expire = () => setImmediate(() => reject(new Away(`no answer within ${timeoutMs} ms`)));
    const timer = setTimeout(expire, timeoutMs);
    try {
      const result = await this.#tried(work, aborted);
      this.#outages.succeeded();
      return result;
    } catch (error) {
      throw error instanceof Unchanged ? error : this.#errorOf(error);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(reject);
      if (this.#pending.size === 0) this.#onIdle?.();
    }
  }

  /** Waits a short time for running calls, rejects the rest, and closes every connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Tries the work again at once when that may help. */
  async #tried<Result>(work: Work<Result>, aborted: Promise<never>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#onConnection(work, aborted);
      } catch (error) {
        if (error instanceof Unchanged || attempt === MAX_ATTEMPTS) throw error;
        const { kind } = failureOf(error);
        if (kind !== 'clash' && kind !== 'stale') throw error;
        // The pause is random, so that two transactions that clashed do not clash again.
        if (kind === 'clash') await Promise.race([sleep(Math.random() * FIRST_PAUSE_MS * 2 ** attempt), aborted]);
      }
    }
  }

  async #onConnection<Result>(work: Work<Result>, aborted: Promise<never>): Promise<Result> {
    const client = await this.#connected(aborted);
    let isCommitting = false;
    try {
      const committing = () => {
        isCommitting = true;
      };
      const result = await Promise.race([work(client, committing), aborted]);
      client.release();
      return result;
    } catch (error) {
      const keep = error instanceof Unchanged || failureOf(error).isConnectionUsable;
      client.release(!keep);
      if (!keep) {
        this.#abandoned.add(this.#backends.get(client)!);
        // A regular close would wait for an answer that may never come.
        client.connection.stream.destroy();
      }
      throw isCommitting && !(error instanceof Unchanged) && !isRefusal(error)
        ? new Unanswered(reasonOf(error))
        : error;
    }
  }

  /**
   * Sets up a new connection, if the server still has a place for it. The places of abandoned connections are free only when the server's
   * processes have finished. Otherwise a server whose commits are stuck would get new connections until it has none left for anybody.
   */
  async #setUp(client: ClientBase): Promise<void> {
    const { connections, timeoutMs } = this.#options;
    const asked = [...this.#abandoned];
    const { backend, busy } = await setUp(client, timeoutMs, asked);
    for (const each of asked) if (!busy.includes(each)) this.#abandoned.delete(each);
    const places = connections - busy.length;
    if (this.#pool.totalCount > places) {
      // From now on, calls wait for the connections that work.
      this.#pool.options.max = places > 0 ? places : connections;
      throw new Crowded('earlier calls are still waiting for the server');
    }
    this.#backends.set(client, backend);
  }

  /** Whether the pool has a connection for each place that abandoned connections have left, when they were last counted. */
  get #isCrowded(): boolean {
    const { options, totalCount } = this.#pool;
    return options.max < this.#options.connections && totalCount >= options.max;
  }

  async #connected(aborted: Promise<never>): Promise<PoolClient> {
    const { clock, connections } = this.#options;
    if (clock.monotonic() >= this.#retryAt) {
      this.#pool.options.max = connections;
    } else if (this.#pool.idleCount === 0 && !this.#isCrowded) {
      throw new Away('the last attempt to connect failed a moment ago');
    }
    const connecting = this.#pool.connect();
    let isAbandoned = false;
    connecting.then(
      (client) => {
        this.#backoff.succeeded();
        if (isAbandoned) client.release();
      },
      () => {
        this.#retryAt = ms(clock.monotonic() + this.#backoff.failed());
      },
    );
    try {
      return await Promise.race([connecting, aborted]);
    } catch (error) {
      isAbandoned = true;
      if (error instanceof Crowded && this.#isCrowded) return this.#connected(aborted);
      throw error;
    }
  }

  async #close(): Promise<void> {
    const { closeTimeoutMs } = this.#options;
    if (this.#pending.size > 0) {
      await within(closeTimeoutMs, new Promise<void>((resolve) => (this.#onIdle = resolve)));
      for (const reject of this.#pending) reject(new Away('the store is closed'));
    }
    await within(closeTimeoutMs, this.#pool.end());
  }

  #errorOf(error: unknown): Error {
    const { kind, reason } = failureOf(error);
    if (kind === 'unique') return new UniqueViolation(reason);
    if (error instanceof Unanswered) {
      this.#outages.failed(reason);
      return outcomeUnknown(reason);
    }
    // The original error is not set as the cause, because it contains the row.
    return kind === 'defect' ? new Error(`store query: ${reason}`) : this.#unavailable(reason);
  }

  #unavailable(reason: string): MillraceError {
    this.#outages.failed(reason);
    return storeUnavailable(reason);
  }
}
