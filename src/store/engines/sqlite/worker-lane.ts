/**
 * The main thread's side of one database worker. Calls of one turn of the event loop are sent in one message, and those that arrive while
 * it runs in the next. So threads wake rarely, and writes share commits.
 */
import type { MillraceError } from '#domain/errors.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import { within } from '#lib/within.ts';
import { WorkerHost } from '#lib/worker-host.ts';
import { Unchanged, UniqueViolation } from '#store/engine.ts';
import { OutageLog } from '#store/outage-log.ts';
import { outcomeUnknown, storeUnavailable } from '#store/unavailable.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Failure } from './failure.ts';
import type { Call, CallOutcome, Changes, LaneRequest, Rows, WorkerJob } from './protocol.ts';

/**
 * When more calls than this wait, half of them are sent. If all were sent, worker and event loop would take turns and one would always be
 * idle, because clients whose calls are answered together send their next calls together (16 clients: 15 % fewer creates).
 */
const WHOLE_BATCH = 10;

/** The options of a lane. */
export interface LaneOptions {
  readonly job: WorkerJob;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a call rejects, including the wait in the queue. */
  readonly timeoutMs: number;
  /** The largest number of calls that may wait or run. More are refused. */
  readonly maxPending: number;
  /** Milliseconds that closing waits for running calls and for the worker's end. */
  readonly closeTimeoutMs: number;
  /** Called with the announcements of a call once it is done, or with undefined when it is unknown whether it was. */
  readonly tell: (announcement: string | undefined) => void;
}

interface PendingCall {
  readonly call: Call;
  readonly announcements: readonly string[];
  /** A monotonic time. */
  readonly since: Milliseconds;
  readonly resolve: (answer: Rows | Changes) => void;
  readonly reject: (error: Error) => void;
  /** Whether the call has been rejected, although its answer may still come. */
  expired: boolean;
}

/** One worker, which is started at the first call and again after it died. */
export class WorkerLane {
  readonly #options: LaneOptions;
  readonly #outages: OutageLog;
  readonly #backoff = new Backoff({ firstMs: 20, maxMs: 2000 });
  /** Calls that have not been sent yet, oldest first. */
  #waiting: PendingCall[] = [];
  /** The batch that the worker has. It gets one at a time, and the next one grows meanwhile. */
  #running: readonly PendingCall[] | undefined;
  readonly #worker: WorkerHost<LaneRequest, readonly CallOutcome[]>;
  /** Whether a flush is due, or the pause after the worker died has not ended. */
  #flushDue = false;
  #expiry: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#outages = new OutageLog(options.logger.child({ lane: options.job.role }), options.clock);
    this.#worker = new WorkerHost({
      module: new URL('./worker.ts', import.meta.url),
      name: `store-${options.job.role}`,
      workerData: options.job,
      onMessage: (answers) => this.#answered(answers),
      onLost: (reason) => this.#lost(reason),
    });
  }

  /**
   * Runs one call.
   * @param announcements delivered before this resolves, and also when the call is done after its time limit
   * @throws {MillraceError} `store_unavailable`, or `outcome_unknown` for a write that had been sent to the worker
   * @throws {UniqueViolation}
   * @throws {Unchanged}
   */
  submit(call: Call, announcements: readonly string[] = []): Promise<Rows | Changes> {
    if (this.#closed !== undefined) return Promise.reject(storeUnavailable('the store is closed'));
    if (this.#waiting.length + (this.#running?.length ?? 0) >= this.#options.maxPending) {
      return Promise.reject(this.#unavailable('too many calls are waiting'));
    }
    return new Promise((resolve, reject) => {
      const since = this.#options.clock.monotonic();
      this.#waiting.push({ call, announcements, since, resolve, reject, expired: false });
      this.#flushSoon();
      this.#expiry ??= this.#expireIn(this.#options.timeoutMs);
    });
  }

  /** Waits a short time for running calls, rejects the rest, and ends the worker. A second call joins the first. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Sends the calls after the sockets of this turn were read, so that they go in one message. */
  #flushSoon(): void {
    if (this.#flushDue || this.#running !== undefined || this.#waiting.length === 0) return;
    this.#flushDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushDue = false;
    if (this.#waiting.length === 0) return;
    this.#running = this.#waiting.splice(0, Math.max(WHOLE_BATCH, Math.ceil(this.#waiting.length / 2)));
    this.#worker.post(this.#running.map(({ call }) => call));
  }

  #answered(answers: readonly CallOutcome[]): void {
    const calls = this.#running ?? [];
    this.#running = undefined;
    this.#backoff.succeeded();
    // A reader whose answers were large left the last calls for the next batch.
    this.#waiting.unshift(...calls.slice(answers.length).filter(({ expired }) => !expired));
    for (const [index, answer] of answers.entries()) {
      const pending = calls[index];
      if (pending === undefined) continue;
      if (answer.kind === 'rows' || answer.kind === 'changes') {
        for (const announcement of pending.announcements) this.#options.tell(announcement);
        pending.resolve(answer);
      } else pending.reject(this.#errorOf(answer));
      const isAway = answer.kind === 'away' || answer.kind === 'unknown';
      if (!isAway && !pending.expired) this.#outages.succeeded();
    }
    this.#flushSoon();
    this.#reportIdle();
  }

  #lost(reason: string): void {
    const calls = this.#running ?? [];
    this.#running = undefined;
    for (const { reject } of calls) reject(this.#unanswered(reason));
    // The worker may have died after a commit.
    if (calls.some(({ announcements }) => announcements.length > 0)) this.#options.tell(undefined);
    if (this.#closed === undefined) {
      this.#flushDue = true;
      setTimeout(() => this.#flush(), this.#backoff.failed());
    }
    this.#reportIdle();
  }

  /** Expires calls only after messages were read. Node runs timers first, and answers may have come while this process was held up. */
  #expireIn(durationMs: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#expire()), durationMs).unref();
  }

  /** All calls have the same time limit, so the oldest come first and one timer is enough. */
  #expire(): void {
    const now = this.#options.clock.monotonic();
    const due = (pending: PendingCall) => now - pending.since >= this.#options.timeoutMs;
    const overdue = [...(this.#running ?? []).filter((pending) => !pending.expired), ...this.#waiting].filter(due);
    for (const pending of overdue) {
      pending.expired = true;
      const reason = `no answer within ${this.#options.timeoutMs} ms`;
      pending.reject(this.#running?.includes(pending) ? this.#unanswered(reason) : this.#unavailable(reason));
    }
    this.#waiting = this.#waiting.filter((pending) => !pending.expired);
    const next = this.#running?.find((pending) => !pending.expired) ?? this.#waiting[0];
    this.#expiry = next && this.#expireIn(Math.max(1, next.since + this.#options.timeoutMs - now));
    this.#reportIdle();
  }

  #reportIdle(): void {
    if (this.#isIdle()) this.#onIdle?.();
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && (this.#running ?? []).every(({ expired }) => expired);
  }

  async #close(): Promise<void> {
    const { clock, closeTimeoutMs } = this.#options;
    const until = clock.monotonic() + closeTimeoutMs;
    const isIdle =
      this.#isIdle() || (await within(closeTimeoutMs, new Promise<void>((resolve) => (this.#onIdle = resolve))));
    clearTimeout(this.#expiry);
    if (!isIdle) {
      for (const { reject } of this.#running ?? []) reject(this.#unanswered('the store is closed'));
      for (const { reject } of this.#waiting) reject(storeUnavailable('the store is closed'));
      this.#waiting = [];
    }
    await this.#worker.end('close', Math.max(0, until - clock.monotonic()));
  }

  #errorOf(failure: Failure): Error {
    if (failure.kind === 'away') return this.#unavailable(failure.reason);
    if (failure.kind === 'unknown') return this.#unanswered(failure.reason);
    if (failure.kind === 'unique') return new UniqueViolation(failure.reason);
    if (failure.kind === 'unchanged') return new Unchanged(failure.reason);
    return new Error(`store query: ${failure.reason}`);
  }

  /**
   * Makes the error of a call that was sent to the worker and got no answer. A write may have been committed, or may be committed later.
   */
  #unanswered(reason: string): MillraceError {
    const error = this.#unavailable(reason);
    return this.#options.job.role === 'write' ? outcomeUnknown(reason) : error;
  }

  #unavailable(reason: string): MillraceError {
    this.#outages.failed(reason);
    return storeUnavailable(reason);
  }
}
