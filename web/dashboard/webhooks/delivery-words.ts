/**
 * Says how many deliveries of a webhook wait, and how many were given up.
 */

/** A list of deliveries to be counted. `next` is set when there are more than these rows. */
export interface Counted {
  readonly rows: readonly unknown[];
  readonly next: string | undefined;
}

/** The sentence; undefined when there are none. */
export function deliveryWords(pending: Counted, dead: Counted): string | undefined {
  if (pending.rows.length + dead.rows.length === 0) return undefined;
  return `${words(pending)} ${pending.rows.length === 1 ? 'delivery' : 'deliveries'} waiting, ${words(dead)} given up`;
}

const words = ({ rows, next }: Counted): string => (next === undefined ? `${rows.length}` : `${rows.length} or more`);
