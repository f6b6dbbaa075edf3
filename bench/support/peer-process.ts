/**
 * A peer in a process of its own, so that its CPU can be counted apart from the load's.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A running peer. */
export interface PeerProcess extends AsyncDisposable {
  readonly pid: number;
  /** What it answered its job with: the port it listens on, or its result. */
  readonly answer: number;
}

/**
 * Starts a file of `bench/peers/`, gives it its job as its first message and waits for its answer.
 * @param job anything that can be cloned
 */
export async function startPeer(file: string, job: object): Promise<PeerProcess> {
  const child = fork(join(import.meta.dirname, '../peers', file), [], { execArgv: [], serialization: 'advanced' });
  const exited = once(child, 'exit');
  child.send(job);
  const [answer] = (await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => Promise.reject(new Error(`${file} ended with ${String(code)}`))),
  ])) as [number];
  return {
    pid: child.pid!,
    answer,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
    },
  };
}
