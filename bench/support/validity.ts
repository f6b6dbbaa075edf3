/**
 * Decides whether a measurement counts: it does not when the host of a virtual machine took CPU away from it, or when other programs
 * used the machine at the same time. Such a measurement is repeated, never corrected.
 */
import { availableParallelism } from 'node:os';
import { machineCpu, treeCpuMs } from './process-usage.ts';

/** The most CPU that may be lost, as a share of all the CPU time of the machine. */
const MOST_LOST = 0.05;

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

/** Observes the machine from now on. */
export class MachineUse {
  readonly #startedAt = performance.now();
  readonly #before = machineCpu();
  readonly #ownBeforeMs = treeCpuMs(process.pid);

  /** {@link whyInvalid} for the time until now. */
  whyInvalid(): string | undefined {
    const { stolenMs, busyMs } = machineCpu();
    return whyInvalid({
      elapsedMs: performance.now() - this.#startedAt,
      cores: availableParallelism(),
      stolenMs: stolenMs - this.#before.stolenMs,
      busyMs: busyMs - this.#before.busyMs,
      ownMs: treeCpuMs(process.pid) - this.#ownBeforeMs,
    });
  }
}
