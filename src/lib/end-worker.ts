/**
 * The end of a worker thread that may hang.
 */
import type { Worker } from 'node:worker_threads';
import { within } from './within.ts';

/**
 * Asks a thread to end, and waits until it has or the time is over. A thread inside a system call cannot be ended, so the process does not
 * wait for it any longer.
 * @param message what the thread takes as the request to end
 */
export async function endWorker(worker: Worker, message: unknown, timeoutMs: number): Promise<void> {
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.postMessage(message);
  await within(timeoutMs, exited);
  worker.unref();
}
