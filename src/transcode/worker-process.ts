/**
 * One worker process: has the fork server start it, exchanges messages with it, and ends it.
 */
import type { Socket } from 'node:net';
import type { WorkerStarter } from './fork-server.ts';
import type { ProcessEnd, WorkerNumber } from './fork-server-messages.ts';
import { FrameReader } from './framing.ts';
import type { RestartReason } from './transcoder.ts';
import type { FromWorker, Job, ToWorker } from './worker-messages.ts';
import { decodeFromWorker, encodeToWorker } from './worker-protocol.ts';

/** How a worker ended. */
export interface WorkerEnd extends ProcessEnd {
  /** Why the server ended it, or `exited` when it ended by itself. */
  readonly reason: RestartReason;
}

/** The callbacks of a worker process. They are called from the event loop, `onEnd` as the last. */
export interface WorkerEvents {
  /** Called with each message. @throws {Error} when the worker must not send this message; it is killed then */
  onMessage(message: FromWorker): void;
  /** Called once, when the process has ended. */
  onEnd(end: WorkerEnd): void;
}

/** The state of the process. */
type State =
  /** The pieces of messages that will be sent once there is a connection. */
  | { readonly type: 'starting'; readonly unsent: Uint8Array[]; bytes: number; isEnding: boolean }
  | { readonly type: 'running'; readonly pid: number; readonly connection: Socket }
  | { readonly type: 'ended' };

/**
 * A worker from its start to its end. Its job is sent over the connection, and its arguments and environment hold no settings or secrets. It
 * stays in the server's session, because Linux divides cores among sessions first, and a low priority counts only within one (sched(7), "The
 * autogroup feature").
 */
export class WorkerProcess {
  readonly #forkServer: WorkerStarter;
  readonly #events: WorkerEvents;
  readonly #number: WorkerNumber;
  /** Settles when everything that the worker sent has been read. */
  readonly #read = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #state: State = { type: 'starting', unsent: [], bytes: 0, isEnding: false };
  /** Why the server ended it, and details for the log. */
  #killedFor: { readonly reason: RestartReason; readonly detail?: string } | undefined;

  constructor(forkServer: WorkerStarter, job: Job, events: WorkerEvents) {
    this.#forkServer = forkServer;
    this.#events = events;
    this.#number = forkServer.start('transcoder', {
      onStarted: (pid, connection) => this.#onStarted(pid, connection),
      onEnded: (end) => void this.#onEnded(end),
    });
    this.send({ type: 'job', job });
  }

  /** The id of the process while it runs. */
  get pid(): number | undefined {
    return this.#state.type === 'running' ? this.#state.pid : undefined;
  }

  /** The number of bytes that were sent and not accepted by the system yet. */
  get queuedBytes(): number {
    if (this.#state.type === 'starting') return this.#state.bytes;
    return this.#state.type === 'running' ? this.#state.connection.writableLength : 0;
  }

  /** Settles when the process has ended and everything that it sent was read. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Sends a message without waiting. The caller bounds what is queued. */
  send(message: ToWorker): void {
    const pieces = encodeToWorker(message);
    if (this.#state.type === 'running') write(this.#state.connection, pieces);
    if (this.#state.type !== 'starting' || this.#state.isEnding) return;
    for (const piece of pieces) {
      this.#state.unsent.push(piece);
      this.#state.bytes += piece.length;
    }
  }

  /** Makes the kernel limit the worker's memory. @returns whether it does; see {@link WorkerStarter} */
  async limitMemory(limitBytes: number): Promise<boolean> {
    return await this.#forkServer.limitMemory(this.#number, limitBytes);
  }

  /** Makes the worker hand out what it holds and exit. Nothing more can be sent. */
  end(): void {
    if (this.#state.type === 'starting') this.#state.isEnding = true;
    else if (this.#state.type === 'running') this.#state.connection.end();
  }

  /** Ends the worker by force. Anything it still sends is ignored. @param detail details of the reason, for the log */
  kill(reason: RestartReason, detail?: string): void {
    this.#killedFor ??= { reason, ...(detail !== undefined && { detail }) };
    this.#forkServer.kill(this.#number);
  }

  #onStarted(pid: number, connection: Socket): void {
    const early = this.#state;
    if (early.type !== 'starting') {
      connection.destroy();
      return;
    }
    this.#state = { type: 'running', pid, connection };
    // The connection is closed already if the worker ended before it was handed over.
    if (connection.closed) this.#read.resolve();
    else connection.once('close', () => this.#read.resolve());
    this.#listen(connection);
    write(connection, early.unsent);
    if (early.isEnding) connection.end();
  }

  #listen(connection: Socket): void {
    const reader = new FrameReader();
    connection.on('data', (chunk: Buffer) => {
      if (this.#killedFor !== undefined) return;
      try {
        for (const frame of reader.push(chunk)) this.#events.onMessage(decodeFromWorker(frame));
      } catch (error) {
        this.kill('protocol_broken', String(error));
      }
    });
  }

  async #onEnded({ exit, detail }: ProcessEnd): Promise<void> {
    const wasStarted = this.#state.type === 'running';
    if (wasStarted) await this.#read.promise;
    this.#state = { type: 'ended' };
    const reason = this.#killedFor?.reason ?? (wasStarted ? 'exited' : 'not_started');
    this.#ended.resolve();
    this.#events.onEnd({ reason, exit, detail: this.#killedFor?.detail ?? detail });
  }
}

function write(connection: Socket, pieces: Iterable<Uint8Array>): void {
  if (!connection.writable) return;
  connection.cork();
  for (const piece of pieces) connection.write(piece);
  connection.uncork();
}
