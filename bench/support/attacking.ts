/**
 * Runs attacks in a process of its own, on the last core and below everybody else's priority.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism, setPriority } from 'node:os';
import type { Sent } from '../attacks/attack.ts';
import type { AttackJob } from '../peers/attackers.ts';
import { startPeer } from './peer-process.ts';

/** What an attack sent, and for how long. */
export interface AttackReport extends Sent {
  readonly seconds: number;
}

/** The niceness of attackers, so that they take little CPU time from the processes that are measured. */
const NICENESS = 10;

/** Attacks for as long as `work` takes. */
export async function whileAttacked<Result>(
  job: AttackJob,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly report: AttackReport }> {
  await using attackers = await startPeer('attackers.ts', job);
  setPriority(attackers.pid, NICENESS);
  // Where there is no taskset, the kernel chooses the core.
  spawnSync('taskset', ['-acp', `${availableParallelism() - 1}`, `${attackers.pid}`], { stdio: 'ignore' });
  const startedAt = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const sent = (await attackers.ask('stop')) as Sent;
  return { result, report: { ...sent, seconds } };
}
