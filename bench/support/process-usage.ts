/**
 * What a process uses, as the kernel counts it (Linux only).
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts CPU time in hundredths of a second, whatever its own tick is. */
const MS_PER_TICK = 10;

/** The parts of proc_pid_stat(5) that are used here. */
interface Stat {
  readonly parent: number;
  /** CPU time of all its threads, in milliseconds. */
  readonly cpuMs: number;
  /** CPU time of its children that have ended and of theirs, in milliseconds. */
  readonly endedChildrenMs: number;
}

function statOf(pid: number | string): Stat {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name and may hold blanks: the others are counted from its end.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ms = (first: number) => (fields[first]! + fields[first + 1]!) * MS_PER_TICK;
  return { parent: fields[1]!, cpuMs: ms(11), endedChildrenMs: ms(13) };
}

/** CPU time of all threads of a process since it started, in milliseconds with a grain of 10. */
export const cpuMs = (pid: number): number => statOf(pid).cpuMs;

/** CPU time of a process and of all that it started, directly or not, in milliseconds with a grain of 10. */
export function treeCpuMs(root: number): number {
  return [...treeOf(root).values()].reduce((sum, each) => sum + each.cpuMs + each.endedChildrenMs, 0);
}

/** CPU time of each process that now runs in the tree of a process, without children that have ended. By pid. */
export function cpuMsInTree(root: number): ReadonlyMap<number, number> {
  return new Map([...treeOf(root)].map(([pid, each]) => [pid, each.cpuMs]));
}

function treeOf(root: number): ReadonlyMap<number, Stat> {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    // What a process has started has a higher pid, until pids begin anew.
    if (!(Number(name) >= root)) continue;
    try {
      stats.set(Number(name), statOf(name));
    } catch {
      // It has ended meanwhile.
    }
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
  return { busyMs: (user + nice + system) * MS_PER_TICK, stolenMs: steal * MS_PER_TICK };
}
