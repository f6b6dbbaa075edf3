/**
 * Counts faults that repeat, so that they need no log line each.
 */

/** Counts faults by name. The names never come from a publisher, so they are few. */
export class FaultCounter {
  #counts = new Map<string, number>();

  /** Counts a fault. */
  count(fault: string): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
  }

  /** Returns the counts since the last call. Undefined when there are none. */
  take(): Readonly<Record<string, number>> | undefined {
    if (this.#counts.size === 0) return undefined;
    const counts = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return counts;
  }
}
