/**
 * Sums of usage.
 */
import type { UsageSum } from '../../shared/types.ts';

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

const COUNTS = [
  'ingestMinutes',
  'ingestBytes',
  'transcodedMinutes',
  'transcodedBytes',
  'deliveredBytes',
  'views',
  'watchedMinutes',
] as const;

/** The numbers of an entry. */
export type Counts = Pick<UsageSum, (typeof COUNTS)[number]>;

/** The sum of all entries. */
export function totalOf(sums: readonly Counts[]): Counts {
  const total = (name: keyof Counts) => sums.reduce((sum, each) => sum + each[name], 0);
  return Object.fromEntries(COUNTS.map((name) => [name, total(name)])) as unknown as Counts;
}

/** One entry for each group of entries, with the first one's other fields. */
export function dayRows(sums: readonly UsageSum[], groupOf: (sum: UsageSum) => string): readonly UsageSum[] {
  return [...Map.groupBy(sums, groupOf).values()].map((group) => ({ ...group[0]!, ...totalOf(group) }));
}

/** Minutes in words: `40 min`, `2.5 h`. */
export function minutesWords(minutes: number): string {
  if (minutes < 10) return `${Number(minutes.toFixed(1))} min`;
  if (minutes < 120) return `${Math.round(minutes)} min`;
  return `${Number((minutes / 60).toFixed(1)).toLocaleString('en-GB')} h`;
}
