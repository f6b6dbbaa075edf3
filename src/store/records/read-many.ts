/**
 * Reading what has any of many ids.
 */

/** Ids of one query. */
const MANY = 32;

/** Reads the ids in runs of the same length, so that one query fits all. @param read is given each run under any keys */
export async function readMany<Id, Item>(
  ids: readonly Id[],
  read: (run: Record<string, Id>) => Promise<readonly Item[]>,
): Promise<Item[]> {
  return (await Promise.all(runsOf(ids).map(read))).flat();
}

/** The last run is filled up with its first id. */
function runsOf<Id>(ids: readonly Id[]): Record<string, Id>[] {
  return Array.from({ length: Math.ceil(ids.length / MANY) }, (_, run) => {
    const first = run * MANY;
    return Object.fromEntries(Array.from({ length: MANY }, (__, index) => [index, ids[first + index] ?? ids[first]!]));
  });
}
