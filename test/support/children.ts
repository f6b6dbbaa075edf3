/**
 * Child processes as the kernel lists them (Linux only).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessStat, processStat } from './process-stat.ts';

/** A process whose parent is known. */
export interface ChildOf extends Pick<ProcessStat, 'state'> {
  readonly pid: number;
}

/** The children of a process, including zombies, which have ended and were not reaped. */
export function childrenOf(parent: number): readonly ChildOf[] {
  return readdirSync('/proc').flatMap((name) => {
    const child = /^\d+$/.test(name) ? processStat(Number(name)) : undefined;
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
  return !['Z', 'X', undefined].includes(processStat(pid)?.state);
}

function isForkServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/fork-server/main.');
  } catch {
    return false; // the process has ended
  }
}
