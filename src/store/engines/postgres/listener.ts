/**
 * Receives the announcements of all processes on a connection of its own, which is made again whenever it breaks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { within } from '#lib/within.ts';
import { type AnnouncementListener, Listeners } from '#store/listeners.ts';
import { OutageLog } from '#store/outage-log.ts';
import type { Logger } from '#telemetry/logger.ts';
import { Away, reasonOf } from './failure.ts';
import { shareSchema } from './schema-locks.ts';
import { setUp } from './session.ts';
import type { Target } from './target.ts';
import { CHANNEL } from './transaction.ts';

/** How often the connection is checked, and how long it may take to answer. A new connection has as long for each of its steps. */
const CHECK_EVERY_MS = 4000;
const ANSWER_WITHIN_MS = 3000;
/** How long each step of the first connection may take. The process does not start without it, and it is not tried again. */
const FIRST_WITHIN_MS = 20_000;

/** The options of a listener. */
export interface ListenerOptions {
  readonly target: Target;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the process serves. While the listener of a serving process is connected, no other process changes the schema. */
  readonly holdsSchema: boolean;
}

/** One connection that receives announcements for any number of listeners. */
export class Listener implements AsyncDisposable {
  readonly #options: ListenerOptions;
  readonly #outages: OutageLog;
  readonly #listeners: Listeners;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Whether announcements can be received at the moment. */
  #isReceiving = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#listeners = new Listeners(options.logger);
    this.#outages = new OutageLog(options.logger.child({ lane: 'listen' }), options.clock);
  }

  /**
   * Connects and resolves once announcements are received.
   * @throws an error of `pg` when it cannot connect; the listener is then not started
   */
  async start(): Promise<void> {
    const client = await this.#connect(FIRST_WITHIN_MS);
    this.#running = this.#run(client);
  }

  /** Calls the listener with announcements from now on, and first with undefined if there is no connection yet. */
  listen(listener: AnnouncementListener): Disposable {
    const listening = this.#listeners.add(listener);
    this.#running ??= this.#run();
    return listening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(first?: Client): Promise<void> {
    const backoff = new Backoff({ firstMs: 100, maxMs: 2000 });
    const { signal } = this.#closing;
    let client = first;
    while (!signal.aborted) {
      try {
        client ??= await this.#connect();
        backoff.succeeded();
        this.#outages.succeeded();
        await this.#receive(client, client === first);
      } catch (error) {
        if (!signal.aborted) this.#outages.failed(reasonOf(error));
      }
      this.#isReceiving = false;
      client?.connection.stream.destroy();
      client = undefined;
      await sleep(backoff.failed(), undefined, { signal }).catch(() => {});
    }
  }

  /** Makes a connection that receives announcements. */
  async #connect(stepWithinMs = ANSWER_WITHIN_MS): Promise<Client> {
    const client = new Client({
      ...this.#options.target.options(),
      connectionTimeoutMillis: stepWithinMs,
      query_timeout: stepWithinMs,
    });
    // Calls that wait on the connection get the error. Without a waiting call, the next check finds the broken connection.
    client.on('error', () => {});
    const close = () => client.connection.stream.destroy();
    this.#closing.signal.addEventListener('abort', close);
    client.once('end', () => this.#closing.signal.removeEventListener('abort', close));
    try {
      await client.connect();
      await setUp(client, stepWithinMs);
      if (this.#options.holdsSchema) await shareSchema(client);
      client.on('notification', ({ payload }) => this.#tell(payload));
      await client.query(`listen ${CHANNEL}`);
      return client;
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Receives announcements until the connection breaks. @param knowsAll whether nobody has listened before, so that nothing was missed */
  async #receive(client: Client, knowsAll: boolean): Promise<never> {
    const broken = new AbortController();
    client.once('end', () => broken.abort());
    this.#isReceiving = true;
    if (!knowsAll) this.#tell(undefined);
    for (;;) {
      await sleep(CHECK_EVERY_MS, undefined, { signal: broken.signal }).catch(() => {
        throw new Away('the connection for announcements ended');
      });
      if (!(await within(ANSWER_WITHIN_MS, client.query('select 1')))) {
        throw new Away(`the connection for announcements did not answer within ${ANSWER_WITHIN_MS} ms`);
      }
      this.#outages.succeeded();
    }
  }

  #tell(announcement: string | undefined): void {
    if (this.#isReceiving) this.#listeners.tell(announcement);
  }
}
