/**
 * Faults that repeat, counted instead of logged one by one.
 */

/** Counts faults by name. Names are ours, never the publisher's, so they are few. */
export class FaultCounter {
  #counts = new Map<string, number>();

  count(fault: string): void {
    this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
  }

  /** What was counted since the last call; undefined when nothing was. */
  take(): Readonly<Record<string, number>> | undefined {
    if (this.#counts.size === 0) return undefined;
    const counts = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return counts;
  }
}
