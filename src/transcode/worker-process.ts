/**
 * One worker process: started, spoken to, ended, reaped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { FrameReader } from './framing.ts';
import type { RestartReason } from './transcoder.ts';
import type { FromWorker, Job, ToWorker } from './worker-messages.ts';
import { decodeFromWorker, encodeToWorker } from './worker-protocol.ts';

const WORKER_FILE = join(import.meta.dirname, 'worker', 'main.ts');
/** JavaScript's part is small; pictures live outside its heap. */
const MAX_HEAP_MIB = 64;
/** Below the server's priority: when CPU is short, renditions wait and everything else goes on. */
const NICENESS = 5;
/** Of its last words, for the log. */
const MAX_WORDS = 2000;

/** How a worker ended. */
export interface WorkerEnd {
  /** Why the server ended it; `exited` when it was the worker's own doing. */
  readonly reason: RestartReason;
  /** Exit code or signal name; undefined when it never began. */
  readonly exit: number | string | undefined;
  /** The end of what it wrote on standard error. */
  readonly words: string;
}

/** Called from the event loop; nothing comes behind `onEnd`. */
export interface WorkerEvents {
  /** @throws {Error} when the message is wrong: the worker is killed for it */
  onMessage(message: FromWorker): void;
  onEnd(end: WorkerEnd): void;
}

/**
 * A worker from its start to its reaping. Its job goes over the connection; arguments and environment hold nothing.
 * It stays in the server's session: Linux shares cores out among sessions first, and a low priority counts only within one
 * (sched(7), "The autogroup feature").
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
    this.#child.on('error', () => {}); // told apart by the missing pid
    this.#child.once('close', (code, signal) => this.#over(code ?? signal ?? undefined));
    if (this.#child.pid === undefined) return;
    lowerPriority(this.#child.pid);
    this.#connection = this.#child.stdio[3] as Duplex;
    this.#connection.on('error', () => {}); // the worker is gone; `close` says so
    this.#listen(this.#connection);
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#words = (this.#words + chunk.toString()).slice(-MAX_WORDS);
    });
    this.send({ type: 'job', job });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Bytes sent that the system has not taken over yet. */
  get queuedBytes(): number {
    return this.#connection?.writableLength ?? 0;
  }

  /** Settles when it has been reaped and everything it sent was read. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Sends; does not wait. The caller bounds what is on its way. */
  send(message: ToWorker): void {
    if (!this.#connection?.writable) return;
    this.#connection.cork();
    for (const piece of encodeToWorker(message)) this.#connection.write(piece);
    this.#connection.uncork();
  }

  /** Nothing more is sent: the worker hands out what it holds, and exits. */
  end(): void {
    this.#connection?.end();
  }

  /** Ends it by force; what it still sends is not heard. */
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
    // It is gone already, or the system does not allow it: it works all the same.
  }
}
