/**
 * What a process uses, as the kernel counts it (Linux only).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { CPU_TIME_UNIT_MS, type ProcessStat, processStat } from '../../test/support/process-stat.ts';

/** CPU time of all threads of a process since it started, in milliseconds with a grain of 10. */
export const cpuMs = (pid: number): number => processStat(pid)!.cpuMs;

/** CPU time of a process and of all that it started, directly or not, in milliseconds with a grain of 10. */
export function treeCpuMs(root: number): number {
  return [...treeOf(root).values()].reduce((sum, each) => sum + each.cpuMs + each.endedChildrenMs, 0);
}

/** CPU time of each process that now runs in the tree of a process, without children that have ended. By pid. */
export function cpuMsInTree(root: number): ReadonlyMap<number, number> {
  return new Map([...treeOf(root)].map(([pid, each]) => [pid, each.cpuMs]));
}

function treeOf(root: number): ReadonlyMap<number, ProcessStat> {
  const stats = new Map<number, ProcessStat>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    // What a process has started has a higher pid, until pids begin anew.
    const stat = pid >= root ? processStat(pid) : undefined;
    if (stat !== undefined) stats.set(pid, stat);
  }
  const isInTree = (pid: number): boolean => pid === root || (stats.has(pid) && isInTree(stats.get(pid)!.parent));
  return new Map([...stats].filter(([pid]) => isInTree(pid)));
}

/** Memory of a process that is in RAM now, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** CPU time that a process used while `work` ran, in milliseconds. */
export async function cpuMsDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMs(pid);
  await work();
  return cpuMs(pid) - before;
}

/** What all cores of the machine did since it started, in milliseconds. */
export function machineCpu(): { readonly busyMs: number; readonly stolenMs: number } {
  // proc_stat(5), first line: user, nice, system, idle, iowait, irq, softirq, steal. Interrupts belong to no program.
  const ticks = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = ticks;
  return { busyMs: (user + nice + system) * CPU_TIME_UNIT_MS, stolenMs: steal * CPU_TIME_UNIT_MS };
}
