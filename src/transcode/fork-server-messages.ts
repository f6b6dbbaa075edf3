/**
 * The messages between the server and its fork server, over Node's IPC channel.
 */

/** Identifies a worker in messages between the server and one fork server. A number is never used twice. */
export type WorkerNumber = number;

/** What a worker runs: `transcoder` transcodes a session or makes one picture of a recording, `test_picture` draws the test picture. */
export type WorkerProgram = 'transcoder' | 'test_picture';

/** A message from the server. */
export type ToForkServer =
  | { readonly type: 'start'; readonly worker: WorkerNumber; readonly program: WorkerProgram }
  /** Ends the worker by force. */
  | { readonly type: 'kill'; readonly worker: WorkerNumber }
  /** Limits the worker's memory. It is answered by `limited`, unless the worker has ended. */
  | { readonly type: 'limit'; readonly worker: WorkerNumber; readonly limitBytes: number };

/** A message from the fork server. */
export type FromForkServer =
  /** The connection to the worker comes with this message. Without a connection, the worker has already ended. */
  | { readonly type: 'started'; readonly worker: WorkerNumber; readonly pid: number }
  /** The fork server has closed its own end of the connection, and no longer takes bytes out of it. */
  | { readonly type: 'handed_over'; readonly worker: WorkerNumber }
  | { readonly type: 'limited'; readonly worker: WorkerNumber; readonly isLimited: boolean }
  /** The last message about a worker, also about one that could not be started. */
  | ({ readonly type: 'ended'; readonly worker: WorkerNumber } & ProcessEnd);

/** How a process ended. */
export interface ProcessEnd {
  /** The exit code or the name of a signal. Undefined when it was never started, and when the fork server ended before it. */
  readonly exit?: number | string | undefined;
  /** The end of what it wrote to standard error. Without an exit: why there is none. */
  readonly detail: string;
}
