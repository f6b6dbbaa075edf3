/**
 * The fork server: a small process that starts the workers, and hands the server a connection to each. The server itself must not start
 * processes while it serves, because the kernel copies the page tables of the whole process for that: its event loop stood still for 12 ms
 * with 250 MB in use, and for longer with more.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { bareEnvironment } from '#lib/bare-environment.ts';
import type { FromForkServer, ProcessEnd, ToForkServer, WorkerNumber, WorkerProgram } from './fork-server-messages.ts';

const FILE = join(import.meta.dirname, 'fork-server/main.ts');
/** The limits of its JavaScript heap, in which it keeps little. */
const FLAGS = ['--max-old-space-size=32', '--max-semi-space-size=1'];

/** How long the fork server may take to end a worker. The kernel does that at once, but the machine may be busy. */
const KILL_WITHIN_MS = 20_000;

/** Callbacks about one worker, called from the event loop. `onEnded` is the last. */
export interface WorkerCallbacks {
  /** Called when the process has started. The callback owns the connection. The process sends nothing before it is sent something. */
  onStarted(pid: number, connection: Socket): void;
  /** Called once: when the process has been reaped or could not be started, or when the fork server has ended. */
  onEnded(end: ProcessEnd): void;
}

/** The part of the fork server that is given to those who do not own it. */
export type WorkerStarter = Pick<ForkServer, 'start' | 'kill' | 'limitMemory'>;

/** A worker that was requested and has not ended. */
interface Requested {
  readonly callbacks: WorkerCallbacks;
  phase:
    | { readonly type: 'requested' }
    /** The connection is undefined when the worker had already ended. */
    | { readonly type: 'started'; readonly pid: number; readonly connection: Socket | undefined }
    | { readonly type: 'handed_over'; readonly pid: number };
  /** The callers that wait for an answer about the memory limit, oldest first. */
  readonly limited: ((isLimited: boolean) => void)[];
  /** Set once the worker is killed. Ends the fork server if the worker has not ended by then. */
  deadline?: NodeJS.Timeout;
}

/**
 * Starts workers. Its own process starts with the first of them, unless it was prepared before. If it ends, it starts again with the next
 * worker. Disposing it ends all workers.
 */
export class ForkServer implements Disposable {
  #child: ChildProcess | undefined;
  #lastNumber: WorkerNumber = 0;
  readonly #workers = new Map<WorkerNumber, Requested>();
  readonly #killWithinMs: number;
  #isDisposed = false;

  /** @param options.killWithinMs how long the process may take to end a worker */
  constructor({ killWithinMs = KILL_WITHIN_MS }: { readonly killWithinMs?: number } = {}) {
    this.#killWithinMs = killWithinMs;
  }

  /** Starts the process in advance, while this one is still small. Does nothing when it runs. A failure is ignored. */
  prepare(): void {
    try {
      this.#open();
    } catch {
      // The start of a worker tries again, and reports its own failure.
    }
  }

  /** Starts a worker. @returns its number for the other methods */
  start(program: WorkerProgram, callbacks: WorkerCallbacks): WorkerNumber {
    this.#lastNumber += 1;
    const worker = this.#lastNumber;
    this.#workers.set(worker, { callbacks, phase: { type: 'requested' }, limited: [] });
    try {
      this.#open();
      this.#send({ type: 'start', worker, program });
    } catch (error) {
      setImmediate(() => this.#end(worker, { detail: String(error) }));
    }
    return worker;
  }

  /** Ends a worker by force. Does nothing when it has ended. If the worker does not end in time, the fork server is killed. */
  kill(worker: WorkerNumber): void {
    const requested = this.#workers.get(worker);
    if (requested === undefined) return;
    this.#send({ type: 'kill', worker });
    // Node runs timers before it reads messages. When this process was held up, the message that the worker has ended may still be waiting.
    // It is read before the callback of `setImmediate` runs.
    const endIfStuck = () => void (this.#workers.has(worker) && this.#child?.kill('SIGKILL'));
    requested.deadline ??= setTimeout(() => setImmediate(endIfStuck), this.#killWithinMs);
  }

  /**
   * Makes the kernel limit a worker's memory.
   * @returns false when it could not be limited, or when the worker has ended; see `limitMemory` in `worker-memory.ts`
   */
  async limitMemory(worker: WorkerNumber, limitBytes: number): Promise<boolean> {
    const requested = this.#workers.get(worker);
    if (requested === undefined) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    requested.limited.push(resolve);
    this.#send({ type: 'limit', worker, limitBytes });
    return await promise;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    if (this.#child?.connected) this.#child.disconnect();
  }

  /** Starts the process if it does not run. @throws {Error} when disposed, and for some errors of the system; the others are emitted */
  #open(): void {
    if (this.#isDisposed) throw new Error('The fork server has been disposed.');
    if (this.#child !== undefined) return;
    // Neither its arguments nor its environment hold any settings or secrets.
    const env = bareEnvironment();
    const child = fork(FILE, { execArgv: FLAGS, stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env });
    child.on('message', (message: FromForkServer, connection: Socket | undefined) =>
      this.#onMessage(message, connection),
    );
    child.on('error', () => {}); // it did not start, or a message did not reach it: its end follows
    child.once('exit', () => this.#lose(child));
    this.#child = child;
    if (child.pid === undefined) setImmediate(() => this.#lose(child));
  }

  #send(message: ToForkServer): void {
    if (this.#child?.connected) this.#child.send(message, () => {}); // an error means that it is about to end
  }

  #onMessage(message: FromForkServer, connection: Socket | undefined): void {
    const requested = this.#workers.get(message.worker);
    if (requested === undefined) {
      connection?.destroy();
      return;
    }
    switch (message.type) {
      case 'started':
        connection?.on('error', () => {}); // the worker is gone, and `close` is emitted
        requested.phase = { type: 'started', pid: message.pid, connection };
        break;
      case 'handed_over':
        handOver(requested);
        break;
      case 'limited':
        requested.limited.shift()?.(message.isLimited);
        break;
      case 'ended':
        this.#end(message.worker, { exit: message.exit, detail: message.detail });
        break;
    }
  }

  /** Ends all workers after the process that started them has ended. */
  #lose(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    for (const [worker, { phase }] of this.#workers) {
      if (phase.type !== 'requested') killOrphan(phase.pid);
      this.#end(worker, { detail: 'The fork server has ended.' });
    }
  }

  #end(worker: WorkerNumber, end: ProcessEnd): void {
    const requested = this.#workers.get(worker);
    if (requested === undefined) return;
    this.#workers.delete(worker);
    const { callbacks, phase, limited, deadline } = requested;
    clearTimeout(deadline);
    if (phase.type === 'started') phase.connection?.destroy();
    for (const resolve of limited) resolve(false);
    callbacks.onEnded(end);
  }
}

function handOver(requested: Requested): void {
  const { phase, callbacks } = requested;
  if (phase.type !== 'started' || phase.connection === undefined) return;
  requested.phase = { type: 'handed_over', pid: phase.pid };
  callbacks.onStarted(phase.pid, phase.connection);
}

function killOrphan(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
