/**
 * Does a page of a search by name cost the same in a list of a million streams as in one of a hundred thousand, and do other reads get their
 * turn meanwhile?
 */
import { tmpdir } from 'node:os';
import { type FilledStore, openFilledStore } from './support/many-streams.ts';
import { type Answer, atMost, atMostTimes } from './support/question.ts';
import { inRounds, percentile, timed } from './support/statistics.ts';

const MILLION = 1_000_000;
/** The number of streams that one page of a search compares. */
const A_PAGE = 100_000;
const ROUNDS = 30;

/** Answers the question above. */
export async function nameSearchMs(): Promise<readonly Answer[]> {
  await using small = await openFilledStore(tmpdir(), A_PAGE);
  await using large = await openFilledStore(tmpdir(), MILLION);
  const besidesMs: number[] = [];
  const { inSmall, inLarge } = await inRounds(ROUNDS, {
    inSmall: () => timed(() => search(small)),
    inLarge: async () => {
      const tookMs = await timed(() => search(large));
      const searching = search(large);
      besidesMs.push(await timed(() => large.store.streams.list(large.user.id, FIRST_PAGE)));
      await searching;
      return tookMs;
    },
  });
  return [
    atMostTimes(
      'a page of a search by a name that none of 1,000,000 streams has',
      inLarge,
      { name: 'of 100,000', value: inSmall },
      { times: 1.3, unit: 'ms' },
    ),
    atMost('a page of a list beside such a search, p95', percentile(besidesMs, 0.95), 50, 'ms'),
  ];
}

const FIRST_PAGE = { limit: 20, order: 'createdAt', direction: 'desc', filter: {} } as const;

const search = ({ store, user }: FilledStore) =>
  store.streams.list(user.id, { ...FIRST_PAGE, filter: { name: 'no such name' } });
