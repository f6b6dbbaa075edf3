/**
 * The main thread's side of the writer thread: a bounded queue of steps. No call blocks on the disk.
 */
import { WorkerHost } from '#lib/worker-host.ts';
import type { Logger } from '#telemetry/logger.ts';
import type { StepResult, ToWriter, WriterAnswer, WriterJob, WriterStep } from './protocol.ts';

/** The most bytes of media of all recordings together that may wait for the disk. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** The size at which a message is full, so that the results of its steps come soon. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** How long closing waits for the thread. */
const CLOSE_TIMEOUT_MS = 5000;

/** The options of the writer thread. */
export interface WriterThreadOptions {
  readonly job: WriterJob;
  readonly logger: Logger;
  readonly maxPendingBytes?: number;
}

interface PendingStep {
  readonly step: WriterStep;
  readonly sizeBytes: number;
  readonly done: (result: StepResult) => void;
}

/** Hands steps to the thread, in order. The thread is started with the first step, and with the next one after it died. */
export class WriterThread implements AsyncDisposable {
  readonly #options: WriterThreadOptions;
  readonly #maxPendingBytes: number;
  readonly #worker: WorkerHost<ToWriter, WriterAnswer>;
  #waiting: PendingStep[] = [];
  /** The steps that the thread has. */
  #running: readonly PendingStep[] | undefined;
  #flushDue = false;
  #pendingBytes = 0;
  #isClosed = false;

  constructor(options: WriterThreadOptions) {
    this.#options = options;
    this.#maxPendingBytes = options.maxPendingBytes ?? MAX_PENDING_BYTES;
    this.#worker = new WorkerHost({
      module: new URL('./worker.ts', import.meta.url),
      name: 'recording-writer',
      workerData: options.job,
      onMessage: ({ results }) => this.#answered(results),
      onLost: (reason) => this.#lost(reason),
    });
  }

  /** The number of bytes that wait for the disk. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Whether the queue has room for this many bytes. Callers ask before they post; the queue itself refuses nothing. */
  hasRoomFor(sizeBytes: number): boolean {
    return this.#pendingBytes + sizeBytes <= this.#maxPendingBytes;
  }

  /** Whether the queue is at most half full, so that a recording that fell behind may go on. */
  get isRelaxed(): boolean {
    return this.#pendingBytes <= this.#maxPendingBytes / 2;
  }

  /** Counts bytes as waiting that the caller still holds. A negative number takes them back. */
  reserve(sizeBytes: number): void {
    this.#pendingBytes += sizeBytes;
  }

  /**
   * Posts a step. Its `bytes` must have a buffer of their own, which is handed to the thread.
   * @param done called once with the result, or with a failure when the thread died or is closed
   */
  post(step: WriterStep, done: (result: StepResult) => void): void {
    const sizeBytes = 'bytes' in step ? step.bytes.length : 0;
    if (this.#isClosed) {
      done({ type: 'failed', reason: 'the writer is closed', code: undefined });
      return;
    }
    this.#pendingBytes += sizeBytes;
    this.#waiting.push({ step, sizeBytes, done });
    this.#flushSoon();
  }

  /** Ends the thread once it has carried out the steps that were sent to it. Steps that wait in the queue fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#worker.end('close', CLOSE_TIMEOUT_MS);
  }

  /** Sends the steps that are posted in one turn of the event loop as one message. */
  #flushSoon(): void {
    if (this.#flushDue || this.#running !== undefined || this.#waiting.length === 0) return;
    this.#flushDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushDue = false;
    let count = 0;
    for (let sizeBytes = 0; count < this.#waiting.length && sizeBytes < MAX_BATCH_BYTES; count++) {
      sizeBytes += this.#waiting[count]!.sizeBytes;
    }
    this.#running = this.#waiting.splice(0, count);
    const steps = this.#running.map(({ step }) => step);
    this.#worker.post(steps, steps.flatMap(ownBuffer));
  }

  #answered(results: readonly StepResult[]): void {
    const steps = this.#running ?? [];
    this.#running = undefined;
    for (const [index, { sizeBytes, done }] of steps.entries()) {
      this.#pendingBytes -= sizeBytes;
      this.#tell(done, results[index]);
    }
    this.#flushSoon();
  }

  #lost(reason: string): void {
    if (!this.#isClosed) this.#options.logger.error({ reason }, 'recording writer lost its thread');
    // The files of these recordings are not open any more, so all steps fail until the recordings are opened again.
    const steps = [...(this.#running ?? []), ...this.#waiting];
    this.#running = undefined;
    this.#waiting = [];
    for (const { sizeBytes, done } of steps) {
      this.#pendingBytes -= sizeBytes;
      this.#tell(done, { type: 'failed', reason, code: undefined });
    }
  }

  /** An error of one recording must not reach others, or the event loop. */
  #tell(done: PendingStep['done'], result: StepResult): void {
    try {
      done(result);
    } catch (error) {
      this.#options.logger.error({ err: error }, 'a recording failed');
    }
  }
}

/** The buffer of a step's media, which the thread takes over instead of copying it. */
function ownBuffer(step: WriterStep): readonly ArrayBuffer[] {
  return 'bytes' in step ? [step.bytes.buffer] : [];
}
