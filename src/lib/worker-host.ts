/**
 * The main thread's side of a worker thread that may die or hang.
 */
import { type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';
import { bareEnvironment } from './bare-environment.ts';
import { within } from './within.ts';

/** The options of a worker host. */
export interface WorkerHostOptions<Sent, Received> extends Pick<WorkerOptions, 'workerData' | 'resourceLimits'> {
  /** The name of the thread in logs, and in tools that list the threads of a process. */
  readonly name: string;
  /** The module that the thread runs. */
  readonly module: URL;
  /** Makes the messages that a new thread gets before any other. */
  readonly greeting?: () => readonly Sent[];
  /** Called with each message of the thread. */
  readonly onMessage: (message: Received) => void;
  /** Called when the thread has died, or could not be started. What was posted to it gets no answer any more. */
  readonly onLost: (reason: string) => void;
}

/**
 * Starts a thread with the first message, and another one with the next message after the thread died. A thread has a
 * {@link bareEnvironment}, and none of the options of the process.
 */
export class WorkerHost<Sent, Received> {
  readonly #options: WorkerHostOptions<Sent, Received>;
  #worker: Worker | undefined;

  constructor(options: WorkerHostOptions<Sent, Received>) {
    this.#options = options;
  }

  /**
   * Posts a message to the thread, which is started if necessary. A thread that cannot be started, or cannot take the message, counts as lost:
   * `onLost` is called before this returns.
   */
  post(message: Sent, transferred: readonly Transferable[] = []): void {
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(message, transferred);
    } catch (error) {
      // If a thread runs, but the message cannot be sent to it, the thread must not go on beside the next one.
      void this.#worker?.terminate();
      this.#lost(this.#worker, String(error));
    }
  }

  /**
   * Asks the thread to end, and waits until it has or the time is over. A thread inside a system call cannot be ended, so the process does
   * not wait for it any longer.
   * @param message what the thread takes as the request to end
   */
  async end(message: Sent, timeoutMs: number): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.postMessage(message);
    await within(timeoutMs, exited);
    worker.unref();
  }

  #start(): Worker {
    const { module, onMessage, greeting, name, workerData, resourceLimits } = this.#options;
    const worker = new Worker(module, { name, workerData, resourceLimits, env: bareEnvironment(), execArgv: [] });
    worker.on('message', onMessage);
    worker.on('error', (error) => this.#lost(worker, String(error)));
    worker.on('exit', (code) => this.#lost(worker, `the thread ${name} ended with code ${code}`));
    for (const message of greeting?.() ?? []) worker.postMessage(message);
    return worker;
  }

  #lost(worker: Worker | undefined, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#options.onLost(reason);
  }
}
