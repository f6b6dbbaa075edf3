/**
 * Child processes as the kernel lists them (Linux only).
 */
import { readdirSync, readFileSync } from 'node:fs';

/** A process whose parent is known. */
export interface ChildOf {
  readonly pid: number;
  /** The kernel's letter: `Z` is a zombie, `T` is stopped (proc_pid_stat(5)). */
  readonly state: string;
}

/** The children of a process, including zombies, which have ended and were not reaped. */
export function childrenOf(parent: number): readonly ChildOf[] {
  return readdirSync('/proc').flatMap((name) => {
    const child = /^\d+$/.test(name) ? readStat(name) : undefined;
    return child?.parent === parent ? [{ pid: Number(name), state: child.state }] : [];
  });
}

/** The workers that transcode for a server: the children of its fork server. */
export function transcodersOf(server: number): readonly ChildOf[] {
  return forkServersOf(server).flatMap(({ pid }) => childrenOf(pid));
}

/** The fork servers of a process. */
export function forkServersOf(parent: number): readonly ChildOf[] {
  return childrenOf(parent).filter(({ pid }) => isForkServer(pid));
}

/** Whether a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  return !['Z', 'X', undefined].includes(readStat(`${pid}`)?.state);
}

function isForkServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/fork-server/main.');
  } catch {
    return false; // the process has ended
  }
}

function readStat(name: string): { readonly state: string; readonly parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may contain spaces: count the fields after it.
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined; // the process has ended since it was listed
  }
}
