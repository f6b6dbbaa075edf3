/**
 * What the kernel says of a process (proc_pid_stat(5), Linux only).
 */
import { readFileSync } from 'node:fs';

/** The unit in which the kernel reports CPU time, in milliseconds. It is the same whatever the kernel's own tick is. */
export const CPU_TIME_UNIT_MS = 10;

/** The fields of a process that are used. Times are in milliseconds with a grain of 10. */
export interface ProcessStat {
  /** The kernel's letter: `Z` is a zombie, `T` is stopped. */
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  /** CPU time of all its threads since it started. */
  readonly cpuMs: number;
  /** CPU time of its children that have ended, and of their children that had ended. */
  readonly endedChildrenMs: number;
}

/** Reads the fields of a process. Undefined when it has ended and was reaped. */
export function processStat(pid: number): ProcessStat | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses and may hold anything. The others are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const msOf = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) * CPU_TIME_UNIT_MS;
  return {
    state: fields[0]!,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    cpuMs: msOf(11),
    endedChildrenMs: msOf(13),
  };
}
