/**
 * One worker process: starts it, exchanges messages with it, ends it and reaps it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { FrameReader } from './framing.ts';
import type { RestartReason } from './transcoder.ts';
import type { FromWorker, Job, ToWorker } from './worker-messages.ts';
import { decodeFromWorker, encodeToWorker } from './worker-protocol.ts';

const WORKER_FILE = join(import.meta.dirname, 'worker/main.ts');
/** The limit of the JavaScript heap, which is small, because frames are outside of it. */
const MAX_HEAP_MIB = 64;
/** A priority below that of the server: when CPU is short, renditions wait and everything else continues. */
const NICENESS = 5;
/** The number of characters kept of the worker's standard error, for the log. */
const MAX_WORDS = 2000;

/** How a worker ended. */
export interface WorkerEnd {
  /** Why the server ended it, or `exited` when it ended by itself. */
  readonly reason: RestartReason;
  /** The exit code or the name of a signal. Undefined when it never started. */
  readonly exit: number | string | undefined;
  /** The end of what it wrote to standard error. */
  readonly words: string;
}

/** Callbacks, called from the event loop. `onEnd` is the last. */
export interface WorkerEvents {
  /** Called with a message. @throws {Error} when the message is wrong, for which the worker is killed */
  onMessage(message: FromWorker): void;
  /** Called once, when the process has ended. */
  onEnd(end: WorkerEnd): void;
}

/**
 * A worker from its start to its reaping. Its job is sent over the connection, and its arguments and environment hold no data. It stays in
 * the server's session, because Linux divides cores among sessions first, and a low priority counts only within one (sched(7), "The
 * autogroup feature").
 */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #connection: Duplex | undefined;
  readonly #events: WorkerEvents;
  readonly #ended = Promise.withResolvers<void>();
  #killedFor: RestartReason | undefined;
  #words = '';

  constructor(job: Job, events: WorkerEvents) {
    this.#events = events;
    this.#child = spawn(process.execPath, [`--max-old-space-size=${MAX_HEAP_MIB}`, WORKER_FILE], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: {},
    });
    this.#child.on('error', () => {}); // a failed start is recognised by the missing pid
    this.#child.once('close', (code, signal) => this.#over(code ?? signal ?? undefined));
    if (this.#child.pid === undefined) return;
    lowerPriority(this.#child.pid);
    this.#connection = this.#child.stdio[3] as Duplex;
    this.#connection.on('error', () => {}); // the worker is gone, and `close` is emitted
    this.#listen(this.#connection);
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#words = (this.#words + chunk.toString()).slice(-MAX_WORDS);
    });
    this.send({ type: 'job', job });
  }

  /** The id of the process. Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The number of bytes that were sent and not accepted by the system yet. */
  get queuedBytes(): number {
    return this.#connection?.writableLength ?? 0;
  }

  /** Settles when the process has been reaped and everything it sent was read. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Sends a message without waiting. The caller bounds what is queued. */
  send(message: ToWorker): void {
    if (!this.#connection?.writable) return;
    this.#connection.cork();
    for (const piece of encodeToWorker(message)) this.#connection.write(piece);
    this.#connection.uncork();
  }

  /** Makes the worker hand out what it holds and exit. Nothing more can be sent. */
  end(): void {
    this.#connection?.end();
  }

  /** Ends the worker by force. Anything it still sends is ignored. */
  kill(reason: RestartReason): void {
    this.#killedFor ??= reason;
    this.#child.kill('SIGKILL');
  }

  #listen(connection: Readable): void {
    const reader = new FrameReader();
    connection.on('data', (chunk: Buffer) => {
      if (this.#killedFor !== undefined) return;
      try {
        for (const frame of reader.push(chunk)) this.#events.onMessage(decodeFromWorker(frame));
      } catch (error) {
        this.#words = String(error);
        this.kill('protocol_broken');
      }
    });
  }

  #over(exit: number | string | undefined): void {
    const reason = this.#killedFor ?? (this.#child.pid === undefined ? 'not_started' : 'exited');
    this.#ended.resolve();
    this.#events.onEnd({ reason, exit, words: this.#words });
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch {
    // The process is already gone, or the system does not allow it. Neither matters.
  }
}
