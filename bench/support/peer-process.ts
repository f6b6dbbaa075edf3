/**
 * A peer in a process of its own, so that its CPU is measured apart from that of the load.
 */
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A running peer. */
export interface PeerProcess extends AsyncDisposable {
  readonly pid: number;
  /** The answer to the job: the port on which the peer listens, or its result. */
  readonly answer: number;
  /** Sends another message to the peer, and waits for the answer. */
  ask(message: Serializable): Promise<unknown>;
}

/**
 * Starts a file of `bench/peers/`, gives it its job as its first message and waits for its answer.
 * @param job anything that can be cloned
 */
export async function startPeer(file: string, job: object): Promise<PeerProcess> {
  const child = fork(join(import.meta.dirname, '../peers', file), [], { execArgv: [], serialization: 'advanced' });
  const exited = once(child, 'exit');
  const ended = exited.then(([code, signal]) => Promise.reject(new Error(`${file} ended with ${code ?? signal}`)));
  // The next request to the peer rejects with this error.
  ended.catch(() => {});
  const ask = async (message: Serializable): Promise<unknown> => {
    const answer = once(child, 'message');
    child.send(message);
    const [value] = (await Promise.race([answer, ended])) as unknown[];
    return value;
  };
  return {
    pid: child.pid!,
    answer: (await ask(job)) as number,
    ask,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
    },
  };
}
