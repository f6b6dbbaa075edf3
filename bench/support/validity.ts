/**
 * Decides whether a measurement counts: it does not when the host of a virtual machine took CPU away from it, or when other programs
 * used the machine at the same time. Such a measurement is repeated, never corrected.
 */
import { availableParallelism } from 'node:os';
import { cpuMsInTree, machineCpu, treeCpuMs } from './process-usage.ts';

/** The most CPU that may be lost, as a share of all the CPU time of the machine. */
const MOST_LOST = 0.05;
/** How often the bench's processes are looked at. */
const LOOK_EVERY_MS = 30;

/** CPU time in milliseconds, all cores together. */
export interface Use {
  readonly elapsedMs: number;
  readonly cores: number;
  /** CPU time that the host of a virtual machine took away. */
  readonly stolenMs: number;
  /** CPU time that all programs used. */
  readonly busyMs: number;
  /** CPU time that the bench and its child processes used. */
  readonly ownMs: number;
}

/** Why a measurement does not count. Undefined when it does. */
export function whyInvalid({ elapsedMs, cores, stolenMs, busyMs, ownMs }: Use): string | undefined {
  const shareOf = (ms: number) => ms / (elapsedMs * cores);
  const percent = (ms: number) => `${(shareOf(ms) * 100).toFixed(1)} % of the CPU`;
  if (shareOf(stolenMs) > MOST_LOST) return `the host took away ${percent(stolenMs)}`;
  if (shareOf(busyMs - ownMs) > MOST_LOST) return `other programs used ${percent(busyMs - ownMs)}`;
  return undefined;
}

/** Observes the machine from now on, until it is disposed. */
export class MachineUse implements Disposable {
  readonly #startedAt = performance.now();
  readonly #before = machineCpu();
  readonly #ownBeforeMs = treeCpuMs(process.pid);
  /** The CPU time of each process of the bench before, and when it was last seen. */
  readonly #cpuBeforeMs = cpuMsInTree(process.pid);
  readonly #cpuMs = new Map<number, number>();
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();

  /** {@link whyInvalid} for the time until now. */
  whyInvalid(): string | undefined {
    this.#look();
    const { stolenMs, busyMs } = machineCpu();
    return whyInvalid({
      elapsedMs: performance.now() - this.#startedAt,
      cores: availableParallelism(),
      stolenMs: stolenMs - this.#before.stolenMs,
      busyMs: busyMs - this.#before.busyMs,
      // The kernel forgets the time of processes that end after the one that started them, as most of Chromium's do.
      ownMs: Math.max(treeCpuMs(process.pid) - this.#ownBeforeMs, this.#seenMs()),
    });
  }

  /** Stops looking. */
  [Symbol.dispose](): void {
    clearInterval(this.#looking);
  }

  #look(): void {
    for (const [pid, ms] of cpuMsInTree(process.pid)) this.#cpuMs.set(pid, ms);
  }

  #seenMs(): number {
    return [...this.#cpuMs].reduce((sum, [pid, ms]) => sum + ms - (this.#cpuBeforeMs.get(pid) ?? 0), 0);
  }
}
