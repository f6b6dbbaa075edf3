/**
 * Divides many ids into runs of equal length, each for one query.
 */

/** The number of ids in one query. */
const MANY = 32;

/**
 * Reads the rows of ids in runs of equal length, so that one prepared query serves all. @param read is called with each run, under any keys
 */
export async function readMany<Id, Item>(
  ids: readonly Id[],
  read: (run: Record<string, Id>) => Promise<readonly Item[]>,
): Promise<Item[]> {
  return (await Promise.all(runsOf(ids).map(read))).flat();
}

/** Divides ids into runs of equal length. The last run is filled up by repeating its first id. */
export function runsOf<Id>(ids: readonly Id[]): Record<string, Id>[] {
  return Array.from({ length: Math.ceil(ids.length / MANY) }, (_, run) => {
    const first = run * MANY;
    return Object.fromEntries(Array.from({ length: MANY }, (__, index) => [index, ids[first + index] ?? ids[first]!]));
  });
}
