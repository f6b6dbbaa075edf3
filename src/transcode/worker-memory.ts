/**
 * Measures and limits the memory of a worker from outside, because a worker whose decoder is overwhelmed by a hostile bitstream cannot
 * report its own.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The time limit for `prlimit`, which makes a single system call. */
const LIMIT_WITHIN_MS = 5000;

/** The memory of a process, in bytes. */
export interface ProcessMemory {
  /** The resident memory (`VmRSS`). */
  readonly residentBytes: number;
  /** The private writable memory (`VmData`), whether it was used or not. RLIMIT_DATA limits it. */
  readonly dataBytes: number;
}

/** Measures a process. Undefined on systems other than Linux, and when the process is gone. */
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
 * Makes the kernel refuse a process memory beyond a limit. Memory that the process has reserved but not used by now is added to the limit,
 * because V8 reserves hundreds of megabytes. Call this after the process has started up.
 * @param limitBytes the limit of resident memory
 * @returns false when the limit could not be set: on systems other than Linux, without `prlimit` (util-linux), or when the process is gone
 */
export async function limitMemory(pid: number, limitBytes: number): Promise<boolean> {
  const memory = memoryOf(pid);
  if (memory === undefined) return false;
  const dataBytes = memory.dataBytes + Math.max(0, limitBytes - memory.residentBytes);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  try {
    execFile('prlimit', [`--pid=${pid}`, `--data=${dataBytes}`], { timeout: LIMIT_WITHIN_MS }, (error) =>
      resolve(error === null),
    );
  } catch {
    return false; // some errors of the system are thrown
  }
  return await promise;
}
