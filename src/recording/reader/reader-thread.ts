/**
 * The main thread's side of a reader thread. Requests are bounded in number and in time.
 */
import { MillraceError } from '#domain/errors.ts';
import { WorkerHost } from '#lib/worker-host.ts';
import type { NumberedAnswer, ReadAnswers, ReaderJob, ReadRequest, ToReader } from './protocol.ts';

/** The most requests that wait or run. Further ones are refused. */
const MAX_REQUESTS = 1000;
/** How long a request may take. A disk that takes longer is too slow to serve viewers. */
const TIMEOUT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 2000;

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** Asks a thread that reads files of recordings. It is started with the first request, and with the next one after it died. */
export class ReaderThread implements AsyncDisposable {
  readonly #pending = new Map<number, Pending>();
  readonly #worker: WorkerHost<ToReader, NumberedAnswer>;
  #number = 0;
  #isClosed = false;

  /** @param name the name of the thread, for those who look at the process from outside */
  constructor(name: string, job: ReaderJob) {
    this.#worker = new WorkerHost({
      module: new URL('./worker.ts', import.meta.url),
      name,
      workerData: job,
      // Most of its garbage is columns of samples, which are outside this heap. With the default limit, the head of a four-hour MP4 makes
      // the process 6 MB larger.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
      onMessage: (reply) => {
        if ('failure' in reply) this.#settle(reply.number, unreadable(reply.failure));
        else this.#settle(reply.number, undefined, reply.answer);
      },
      onLost: (reason) => this.#rejectAll(reason),
    });
  }

  /**
   * Sends a request to the thread and waits for the answer.
   * @throws {MillraceError} `recording_unavailable` when the disk does not deliver what it should, or not in time
   */
  ask<Request extends ReadRequest>(request: Request): Promise<ReadAnswers[Request['type']]> {
    if (this.#isClosed || this.#pending.size >= MAX_REQUESTS) return Promise.reject(unreadable('too many are waiting'));
    return new Promise((resolve, reject) => {
      const number = this.#number++;
      const timer = setTimeout(() => this.#settle(number, unreadable('the disk did not answer in time')), TIMEOUT_MS);
      this.#pending.set(number, { resolve: resolve as Pending['resolve'], reject, timer: timer.unref() });
      const files = 'files' in request ? (request.files ?? []) : [];
      this.#worker.post(
        { number, request },
        files.map(({ buffer }) => buffer),
      );
    });
  }

  /** Ends the thread. Requests that wait are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#worker.end('close', CLOSE_TIMEOUT_MS);
    this.#rejectAll('the server is shutting down');
  }

  #settle(number: number, error: Error | undefined, answer?: unknown): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return; // it has timed out
    this.#pending.delete(number);
    clearTimeout(pending.timer);
    if (error === undefined) pending.resolve(answer);
    else pending.reject(error);
  }

  #rejectAll(reason: string): void {
    for (const number of this.#pending.keys()) this.#settle(number, unreadable(reason));
  }
}

function unreadable(reason: string): Error {
  return new MillraceError('recording_unavailable', `The recording cannot be read now: ${reason}.`);
}
