/**
 * The main thread's side of one database worker: calls of one turn of the event loop travel in one message, those that arrive
 * meanwhile in the next, so that threads wake rarely and writes share commits.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { MillraceError } from '#domain/errors.ts';
import { Backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';
import { Unchanged, UniqueViolation } from '#store/engine.ts';
import { within } from '#store/engines/within.ts';
import { OutageLog } from '#store/outage-log.ts';
import { outcomeUnknown, storeUnavailable } from '#store/unavailable.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { Failure } from './failure.ts';
import type { Call, CallOutcome, Changes, LaneRequest, Rows, WorkerJob } from './protocol.ts';

/**
 * Of more waiting calls than this, half are sent. Were all sent, worker and event loop would take turns: the one idle while the
 * other works, since the clients whose calls are answered together come back together (16 clients: 15 % fewer creates).
 */
const WHOLE_BATCH = 10;

/** What a lane is given. */
export interface LaneOptions {
  readonly job: WorkerJob;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds until a call rejects, the wait in the queue included. */
  readonly timeoutMs: number;
  /** Calls waiting or running above which more are refused. */
  readonly maxPending: number;
  /** Milliseconds that closing waits for calls under way and for the worker's end. */
  readonly closeTimeoutMs: number;
  /** Called with what was announced with a call, once that is done; with undefined when it cannot be known whether it was. */
  readonly tell: (announcement: string | undefined) => void;
}

interface PendingCall {
  readonly call: Call;
  readonly announcements: readonly string[];
  /** Monotonic. */
  readonly since: Milliseconds;
  readonly resolve: (answer: Rows | Changes) => void;
  readonly reject: (error: Error) => void;
  /** Rejected already, though its answer may still come. */
  expired: boolean;
}

/** One worker, started at the first call and again after it died. */
export class WorkerLane {
  readonly #options: LaneOptions;
  readonly #outages: OutageLog;
  readonly #backoff = new Backoff({ firstMs: 20, maxMs: 2000 });
  /** Calls not sent yet, oldest first. */
  #waiting: PendingCall[] = [];
  /** The batch the worker has; one at a time, so that the next one grows meanwhile. */
  #running: readonly PendingCall[] | undefined;
  #worker: Worker | undefined;
  /** A flush is due; or the pause after a death is being kept. */
  #flushDue = false;
  #expiry: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#outages = new OutageLog(options.logger.child({ lane: options.job.role }), options.clock);
  }

  /**
   * Runs one call.
   * @throws {MillraceError} `store_unavailable`, or `outcome_unknown` for a write that was already with the worker
   * @param announcements told before this resolves, and also when it is done too late
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

  /** Finishes the calls under way as far as that goes fast, rejects the others, ends the worker. A second call joins the first. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** After the sockets of this turn were read, so that their calls travel together. */
  #flushSoon(): void {
    if (this.#flushDue || this.#running !== undefined || this.#waiting.length === 0) return;
    this.#flushDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushDue = false;
    if (this.#waiting.length === 0) return;
    this.#running = this.#waiting.splice(0, Math.max(WHOLE_BATCH, Math.ceil(this.#waiting.length / 2)));
    try {
      this.#worker ??= this.#start();
    } catch (error) {
      // The system has no thread left.
      this.#lost(undefined, String(error));
      return;
    }
    this.#worker.postMessage(this.#running.map(({ call }) => call) satisfies LaneRequest);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      name: `store-${this.#options.job.role}`,
      workerData: this.#options.job,
      env: workerEnvironment(),
      // Options were meant for the main thread.
      execArgv: [],
    });
    worker.on('message', (answers: readonly CallOutcome[]) => this.#answered(answers));
    worker.on('error', (error) => this.#lost(worker, String(error)));
    worker.on('exit', (code) => this.#lost(worker, `its worker ended with code ${code}`));
    return worker;
  }

  #answered(answers: readonly CallOutcome[]): void {
    const calls = this.#running ?? [];
    this.#running = undefined;
    this.#backoff.succeeded();
    for (const [index, pending] of calls.entries()) {
      const answer = answers[index] ?? { kind: 'defect', reason: 'the worker gave no answer' };
      if (answer.kind === 'rows' || answer.kind === 'changes') {
        for (const announcement of pending.announcements) this.#options.tell(announcement);
        pending.resolve(answer);
      } else pending.reject(this.#errorOf(answer));
      const isAway = answer.kind === 'away' || answer.kind === 'unknown';
      if (!isAway && !pending.expired) this.#outages.succeeded();
    }
    this.#flushSoon();
    this.#idleMaybe();
  }

  #lost(worker: Worker | undefined, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const calls = this.#running ?? [];
    this.#running = undefined;
    for (const { reject } of calls) reject(this.#unanswered(reason));
    // It may have died after a commit.
    if (calls.some(({ announcements }) => announcements.length > 0)) this.#options.tell(undefined);
    if (this.#closed === undefined) {
      this.#flushDue = true;
      setTimeout(() => this.#flush(), this.#backoff.failed());
    }
    this.#idleMaybe();
  }

  #expireIn(durationMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#expire(), durationMs).unref();
  }

  /** Calls all wait equally long, so the oldest are first and one timer is enough. */
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
    this.#idleMaybe();
  }

  #idleMaybe(): void {
    if (this.#isIdle()) this.#onIdle?.();
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && (this.#running ?? []).every(({ expired }) => expired);
  }

  async #close(): Promise<void> {
    const finished = await within(this.#options.closeTimeoutMs, this.#finish());
    clearTimeout(this.#expiry);
    if (finished) return;
    for (const { reject } of this.#running ?? []) reject(this.#unanswered('the store is closed'));
    for (const { reject } of this.#waiting) reject(storeUnavailable('the store is closed'));
    this.#waiting = [];
    // A worker in the middle of a system call cannot be ended: it is told to, and the process does not wait for it.
    this.#worker?.postMessage('close' satisfies LaneRequest);
    this.#worker?.unref();
  }

  async #finish(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('close' satisfies LaneRequest);
    await exited;
  }

  #errorOf(failure: Failure): Error {
    if (failure.kind === 'away') return this.#unavailable(failure.reason);
    if (failure.kind === 'unknown') return this.#unanswered(failure.reason);
    if (failure.kind === 'unique') return new UniqueViolation(failure.reason);
    if (failure.kind === 'unchanged') return new Unchanged(failure.reason);
    return new Error(`store query: ${failure.reason}`);
  }

  /** The error of a call that was with the worker and gets no answer. A write may have been committed, or may be later. */
  #unanswered(reason: string): MillraceError {
    const error = this.#unavailable(reason);
    return this.#options.job.role === 'write' ? outcomeUnknown(reason) : error;
  }

  #unavailable(reason: string): MillraceError {
    this.#outages.failed(reason);
    return storeUnavailable(reason);
  }
}

/**
 * Nothing of our own environment, which may hold secrets, but where compiled code is kept, if the process keeps any: a worker
 * that finds its files there does not load the type stripper, which is half of its memory (10 of 20 MB, Node 26.10).
 */
function workerEnvironment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // It names the folder of this very Node, below the one to be asked for.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
