/**
 * Reads all entries of a span of time, although the number of entries in one answer is limited.
 */
import { DAY_MS } from './sums.ts';

/** The most entries of an answer. */
const MAX_ENTRIES = 10_000;

/** Asks for the entries from a time, in milliseconds, up to another one. */
type Ask<Entry> = (from: number, to: number) => Promise<readonly Entry[]>;

/**
 * Reads all entries of whole days, in order. When an answer may be incomplete, each half of its span is asked for.
 * @throws when a single day has more entries than an answer
 */
export async function wholeSpan<Entry>(from: number, to: number, ask: Ask<Entry>): Promise<readonly Entry[]> {
  const entries = await ask(from, to);
  if (entries.length < MAX_ENTRIES) return entries;
  const middle = from + Math.floor((to - from) / DAY_MS / 2) * DAY_MS;
  if (middle === from) {
    throw new Error('More streams were used on one day than one API response lists. Use GET /data/usage by hours.');
  }
  return [...(await wholeSpan(from, middle, ask)), ...(await wholeSpan(middle, to, ask))];
}
