/**
 * What a process uses, as the kernel counts it (Linux only).
 */
import { readFileSync } from 'node:fs';
import { MS_PER_TICK } from '../../test/support/cpu-times.ts';

/** CPU time of all threads of a process since it started, in milliseconds with a grain of 10. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name and may hold blanks: count from behind it (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Memory of a process that is in RAM now, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** CPU a process used while `work` ran, in milliseconds. */
export async function cpuMsDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMs(pid);
  await work();
  return cpuMs(pid) - before;
}
