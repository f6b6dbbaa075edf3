/**
 * The main thread's side of the storage thread. No call blocks on the disk or on the bucket.
 */
import type { MediaPath } from '#domain/ids.ts';
import { WorkerHost } from '#lib/worker-host.ts';
import type { Logger } from '#telemetry/logger.ts';
import type {
  FromStorage,
  LocalRecording,
  StorageAnswers,
  StorageCall,
  StorageJob,
  StorageNote,
  ToStorage,
} from './protocol.ts';
import type { KeptSpan } from './unneeded-volumes.ts';

/** How long closing waits for the thread. */
const CLOSE_TIMEOUT_MS = 5000;
/** How long a request to the disk may take. */
const DISK_TIMEOUT_MS = 10_000;
/** How long a request for many files may take. A recording of a day has ten thousand files. */
const FREE_TIMEOUT_MS = 900_000;
const CLOSED = 'The storage of recordings is closed.';

/** The options of the storage thread. */
export interface StorageThreadOptions {
  readonly job: StorageJob;
  readonly logger: Logger;
  /**
   * Called when all files of an ended recording are in the bucket. Call {@link StorageThread.noted} once the row of the recording says so.
   */
  readonly onStored: (path: MediaPath) => void;
  /** Called when uploads begin to fail, with the reason, and with undefined when they work again. */
  readonly onFailing: (reason: string | undefined) => void;
  /** Called with the number and the total size of the files that wait to be uploaded. */
  readonly onWaiting: (files: number, sizeBytes: number) => void;
  /**
   * Called when the thread has died. The next one knows only the recordings that are running, so all others must be {@link
   * StorageThread.found} again.
   */
  readonly onLost: () => void;
}

interface PendingCall {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Sends messages to the storage thread. It is started with the first message, and with the next one after it died. */
export class StorageThread implements AsyncDisposable {
  readonly #options: StorageThreadOptions;
  readonly #calls = new Map<number, PendingCall>();
  /** The closed periods of the recordings that run, for a thread that is started anew. */
  readonly #running = new Map<MediaPath, number[]>();
  readonly #worker: WorkerHost<ToStorage, FromStorage>;
  #lastCall = 0;
  #isClosed = false;

  constructor(options: StorageThreadOptions) {
    this.#options = options;
    this.#worker = new WorkerHost({
      module: new URL('./worker.ts', import.meta.url),
      name: 'recording-storage',
      workerData: options.job,
      greeting: () => [...this.#running].map(([path, periods]) => ({ type: 'closed', path, periods })),
      onMessage: (message) => this.#take(message),
      onLost: (reason) => this.#lost(reason),
    });
  }

  /** Notes that a recording on this machine has a row in the store, so that its files are uploaded. It is not known to be running. */
  found(path: MediaPath): void {
    this.#note({ type: 'found', path });
  }

  /** Notes that the writer has opened a recording, or has closed these periods of it, whose files will not change any more. */
  closed(path: MediaPath, periods: readonly number[]): void {
    this.#running.set(path, [...(this.#running.get(path) ?? []), ...periods]);
    this.#note({ type: 'closed', path, periods });
  }

  /** Notes that the writer has ended a recording, and that none of its files will change any more. */
  ended(path: MediaPath): void {
    this.#running.delete(path);
    this.#note({ type: 'ended', path });
  }

  /** Notes that the row of a recording says that all its files are in the bucket, so that they may be removed from this machine. */
  noted(path: MediaPath): void {
    this.#note({ type: 'noted', path });
  }

  /** Lists the recordings that have files on this machine. Rejects when the disk fails. */
  local(): Promise<readonly LocalRecording[]> {
    return this.#ask({ type: 'local' }, FREE_TIMEOUT_MS);
  }

  /**
   * Deletes the files of a recording, on this machine and in the bucket, except what the spans need. Repeating it is harmless. Rejects when
   * files are left that should be deleted. The message of the error has no secrets.
   */
  free(path: MediaPath, spans: readonly KeptSpan[]): Promise<undefined> {
    return this.#ask({ type: 'free', path, spans }, FREE_TIMEOUT_MS);
  }

  /** Deletes the same files as {@link free}, but only on this machine. It does not wait for the bucket. */
  freeDisk(path: MediaPath, spans: readonly KeptSpan[]): Promise<undefined> {
    return this.#ask({ type: 'free_disk', path, spans }, FREE_TIMEOUT_MS);
  }

  /**
   * The free space of the disk with the recordings, in bytes. Undefined before the first recording. Rejects when the disk does not answer.
   */
  freeBytes(): Promise<number | undefined> {
    return this.#ask({ type: 'free_bytes' }, DISK_TIMEOUT_MS);
  }

  /** Removes from this machine all media that is in the bucket. Resolves with the number of bytes that were freed. */
  makeRoom(): Promise<number> {
    return this.#ask({ type: 'make_room' }, DISK_TIMEOUT_MS);
  }

  /** Ends the thread. Work in progress is given up, which rejects its calls, and done again after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#calls.values()) reject(new Error(CLOSED));
    await this.#worker.end({ type: 'stop' }, CLOSE_TIMEOUT_MS);
  }

  #note(note: StorageNote): void {
    if (!this.#isClosed) this.#worker.post(note);
  }

  #ask<Call extends StorageCall>(call: Call, timeoutMs: number): Promise<StorageAnswers[Call['type']]> {
    const { promise, resolve, reject } = Promise.withResolvers<StorageAnswers[Call['type']]>();
    if (this.#isClosed) reject(new Error(CLOSED));
    else {
      this.#lastCall += 1;
      const id = this.#lastCall;
      const timer = setTimeout(() => reject(new Error(`The storage did not answer (${call.type}).`)), timeoutMs);
      this.#calls.set(id, { resolve, reject });
      this.#worker.post({ type: 'call', id, call });
      return promise.finally(() => {
        clearTimeout(timer);
        this.#calls.delete(id);
      });
    }
    return promise;
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

  #lost(reason: string): void {
    if (this.#isClosed) return;
    this.#options.logger.error({ reason }, 'recording storage lost its thread');
    for (const { reject } of this.#calls.values()) reject(new Error(reason));
    this.#options.onLost();
  }
}
