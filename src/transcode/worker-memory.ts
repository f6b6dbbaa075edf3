/**
 * The memory of a worker, measured and bounded from outside: a decoder that a stranger's bitstream has overwhelmed does not get to
 * report itself.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** For a program that does nothing but one system call. */
const LIMIT_WITHIN_MS = 5000;

/** What a process takes, in bytes. */
export interface ProcessMemory {
  /** In memory now (`VmRSS`). */
  readonly residentBytes: number;
  /** Private and writable, whether it was ever written to or not (`VmData`): what RLIMIT_DATA counts. */
  readonly dataBytes: number;
}

/** Measures a process; undefined where the system does not tell (it is not Linux), or the process is gone. */
export function memoryOf(pid: number): ProcessMemory | undefined {
  if (process.platform !== 'linux') return undefined;
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return undefined;
  }
  const bytes = (name: string) => {
    const line = status.split('\n').find((each) => each.startsWith(`${name}:`));
    return Number.parseInt(line?.slice(name.length + 1) ?? '', 10) * 1024;
  };
  const memory = { residentBytes: bytes('VmRSS'), dataBytes: bytes('VmData') };
  return Number.isNaN(memory.residentBytes + memory.dataBytes) ? undefined : memory;
}

/**
 * Has the kernel refuse a process further memory once it has grown to a size. What the process has already reserved without using
 * it, which for V8 are hundreds of megabytes, is allowed on top, so this is to be called when the process has started up.
 * @param limitBytes resident
 * @returns false where the system cannot do it: it is not Linux, has no `prlimit` (util-linux), or the process is gone
 */
export async function limitMemory(pid: number, limitBytes: number): Promise<boolean> {
  const memory = memoryOf(pid);
  if (memory === undefined) return false;
  const dataBytes = memory.dataBytes + Math.max(0, limitBytes - memory.residentBytes);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  execFile('prlimit', [`--pid=${pid}`, `--data=${dataBytes}`], { timeout: LIMIT_WITHIN_MS }, (error) =>
    resolve(error === null),
  );
  return await promise;
}
