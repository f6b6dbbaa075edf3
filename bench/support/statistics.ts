/**
 * Percentiles and medians of measurements, and measurements that are repeated.
 */

/** The percentile: the smallest value that at least this share of all values does not exceed. @param share 0..1 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new Error('nothing was measured');
  return found;
}

/** The median. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The mean of at least one value. */
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Slope of the straight line that fits best: units of `y` for one of `x`. */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const meanX = mean(points.map(({ x }) => x));
  const meanY = mean(points.map(({ y }) => y));
  const covariance = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
}

/**
 * Measures several things in turn, round after round, so that a machine that becomes slower affects all of them alike.
 * @param options.warmUp rounds before the first that counts
 * @returns the median of each
 */
export async function inRounds<Name extends string>(
  rounds: number,
  measures: Readonly<Record<Name, () => Promise<number>>>,
  { warmUp = 0 } = {},
): Promise<Readonly<Record<Name, number>>> {
  const entries = Object.entries(measures) as [Name, () => Promise<number>][];
  const values = new Map<Name, number[]>(entries.map(([name]) => [name, []]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [name, measure] of entries) {
      const value = await measure();
      if (round >= 0) values.get(name)!.push(value);
    }
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, median(all)])) as Record<Name, number>;
}

/** How long `work` took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
