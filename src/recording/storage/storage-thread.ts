/**
 * The main thread's side of the storage thread. Nothing here waits for a disk or for the bucket.
 */
import { Worker } from 'node:worker_threads';
import type { MediaPath } from '#domain/ids.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { KeptSpan } from './needed-volumes.ts';
import type {
  FromStorage,
  LocalRecording,
  StorageAnswers,
  StorageCall,
  StorageJob,
  StorageNote,
  ToStorage,
} from './protocol.ts';

/** Milliseconds that closing waits for the thread. */
const CLOSE_TIMEOUT_MS = 5000;
/** A disk that does not answer within this time is taken to hang. */
const DISK_TIMEOUT_MS = 10_000;
/** A recording of a day has ten thousand files. */
const FREE_TIMEOUT_MS = 900_000;

/** The options of the storage thread. */
export interface StorageThreadOptions {
  readonly job: StorageJob;
  readonly logger: Logger;
  /** Everything of a recording that has ended is in the bucket. Answer with {@link StorageThread.noted} when that is stored. */
  readonly onStored: (path: MediaPath) => void;
  /** Uploads fail, with the reason, or do not any more. */
  readonly onFailing: (reason: string | undefined) => void;
  readonly onWaiting: (files: number, sizeBytes: number) => void;
  /** The thread was lost and will be started anew, and then knows nothing of recordings that do not run. */
  readonly onLost: () => void;
}

interface PendingCall {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Tells and asks the thread. It is started when there is something to say, and again after it died. */
export class StorageThread implements AsyncDisposable {
  readonly #options: StorageThreadOptions;
  readonly #calls = new Map<number, PendingCall>();
  /** The closed periods of the recordings that run, for a thread that is started anew. */
  readonly #running = new Map<MediaPath, number[]>();
  #worker: Worker | undefined;
  #lastCall = 0;
  #isClosed = false;

  constructor(options: StorageThreadOptions) {
    this.#options = options;
  }

  /** A recording on this machine has a row and does not run, as far as is known. */
  found(path: MediaPath): void {
    this.#note({ type: 'found', path });
  }

  /** The writer has opened a recording or closed periods of it. */
  closed(path: MediaPath, periods: readonly number[]): void {
    this.#running.set(path, [...(this.#running.get(path) ?? []), ...periods]);
    this.#note({ type: 'closed', path, periods });
  }

  /** The writer has ended a recording. */
  ended(path: MediaPath): void {
    this.#running.delete(path);
    this.#note({ type: 'ended', path });
  }

  /** The row of a recording says that everything is in the bucket. */
  noted(path: MediaPath): void {
    this.#note({ type: 'noted', path });
  }

  /** The recordings with files on this machine. */
  local(): Promise<readonly LocalRecording[]> {
    return this.#ask({ type: 'local' }, FREE_TIMEOUT_MS);
  }

  /**
   * Deletes the bytes of a recording, on this machine and in the bucket, except the volumes that the spans need. Repeating it is harmless.
   * Rejects when some are left, with a text without secrets.
   */
  free(path: MediaPath, spans: readonly KeptSpan[]): Promise<undefined> {
    return this.#ask({ type: 'free', path, spans }, FREE_TIMEOUT_MS);
  }

  /** The free bytes of the disk with the recordings. Undefined before the first. */
  freeBytes(): Promise<number | undefined> {
    return this.#ask({ type: 'free_bytes' }, DISK_TIMEOUT_MS);
  }

  /** Removes what the bucket has from this machine. Returns the bytes that were freed. */
  makeRoom(): Promise<number> {
    return this.#ask({ type: 'make_room' }, DISK_TIMEOUT_MS);
  }

  /** Ends the thread. What it was doing is taken up at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.postMessage({ type: 'stop' } satisfies ToStorage);
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref());
    await Promise.race([exited, timeout]);
    // A thread inside a system call cannot be ended, and the process does not wait for it.
    worker.unref();
  }

  #note(note: StorageNote): void {
    if (!this.#isClosed) this.#post(note);
  }

  #ask<Call extends StorageCall>(call: Call, timeoutMs: number): Promise<StorageAnswers[Call['type']]> {
    const { promise, resolve, reject } = Promise.withResolvers<StorageAnswers[Call['type']]>();
    if (this.#isClosed) reject(new Error('The storage of recordings is closed.'));
    else {
      this.#lastCall += 1;
      const id = this.#lastCall;
      const timer = setTimeout(() => reject(new Error(`The storage did not answer (${call.type}).`)), timeoutMs);
      this.#calls.set(id, { resolve, reject });
      this.#post({ type: 'call', id, call });
      return promise.finally(() => {
        clearTimeout(timer);
        this.#calls.delete(id);
      });
    }
    return promise;
  }

  #post(message: ToStorage): void {
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(message);
    } catch (error) {
      this.#lost(this.#worker, String(error)); // the system has no thread left
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      name: 'recording-storage',
      workerData: this.#options.job,
      env: {},
      execArgv: [],
    });
    worker.on('message', (message: FromStorage) => this.#take(message));
    worker.on('error', (error) => this.#lost(worker, String(error)));
    worker.on('exit', (code) => this.#lost(worker, `its thread ended with code ${code}`));
    for (const [path, periods] of this.#running)
      worker.postMessage({ type: 'closed', path, periods } satisfies ToStorage);
    return worker;
  }

  #take(message: FromStorage): void {
    const { onStored, onFailing, onWaiting } = this.#options;
    switch (message.type) {
      case 'answer':
        this.#calls.get(message.id)?.resolve(message.result as never);
        break;
      case 'refusal':
        this.#calls.get(message.id)?.reject(new Error(message.reason));
        break;
      case 'stored':
        onStored(message.path as MediaPath);
        break;
      case 'failing':
        onFailing(message.reason);
        break;
      case 'waiting':
        onWaiting(message.files, message.sizeBytes);
    }
  }

  #lost(worker: Worker | undefined, reason: string): void {
    if (this.#worker !== worker || this.#isClosed) return;
    this.#worker = undefined;
    this.#options.logger.error({ reason }, 'recording storage lost its thread');
    for (const { reject } of this.#calls.values()) reject(new Error(reason));
    this.#options.onLost();
  }
}
