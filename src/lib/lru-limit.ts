/**
 * The limit of caches that forget what was used longest ago.
 */

/**
 * The options of an `LRUCache` that keeps at most this many entries. With the option `max` it would allocate its arrays for all of them in
 * advance, which would be memory of an idle server.
 */
export const atMostEntries = (limit: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: limit,
  sizeCalculation: () => 1,
});
