/**
 * What the cores of this machine did, as the kernel counts it (Linux; elsewhere nothing is known and nothing was taken away).
 */
import { existsSync, readFileSync } from 'node:fs';

/** The kernel counts CPU in hundredths of a second, whatever its own tick is. */
export const MS_PER_TICK = 10;
const STAT = '/proc/stat';

/** Since the machine started, of all cores together, in milliseconds. */
export interface CpuTimes {
  /** Cores worked. */
  readonly busyMs: number;
  /** Cores of a virtual machine had work, and its host did not run them. */
  readonly stolenMs: number;
}

/** Up to now. */
export function cpuTimes(): CpuTimes {
  if (!existsSync(STAT)) return { busyMs: 0, stolenMs: 0 };
  // proc_stat(5), first line: user, nice, system, idle, iowait, irq, softirq, steal.
  const ticks = readFileSync(STAT, 'utf8').split(/\s+/, 9).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks;
  return { busyMs: (user + nice + system + irq + softirq) * MS_PER_TICK, stolenMs: steal * MS_PER_TICK };
}

/** Which share of the CPU that was asked for since then the host took away: 0 to 1. */
export function stolenShare(since: CpuTimes): number {
  const now = cpuTimes();
  const stolenMs = now.stolenMs - since.stolenMs;
  return stolenMs / Math.max(1, now.busyMs - since.busyMs + stolenMs);
}
