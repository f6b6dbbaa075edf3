/**
 * Does a list page of 100 cost the same among a million streams as among a thousand, the first page and the 5,000th?
 */
import { tmpdir } from 'node:os';
import type { PageKey } from '#store/page.ts';
import { type FilledStore, openFilledStore } from './support/many-streams.ts';
import { type Answer, atMostTimes } from './support/question.ts';
import { inRounds, timed } from './support/statistics.ts';

const MILLION = 1_000_000;
const THOUSAND = 1000;
const PAGE = 100;
const ASKED = 300;

/** Answers the question above. */
export async function listPageMs(): Promise<readonly Answer[]> {
  await using small = await openFilledStore(tmpdir(), THOUSAND);
  await using large = await openFilledStore(tmpdir(), MILLION);
  const [fifth, far] = [await keyBefore(small, 5), await keyBefore(large, 5000)];
  const { firstOfSmall, first, laterOfSmall, later } = await inRounds(ASKED, {
    firstOfSmall: () => timed(() => listed(small, undefined)),
    first: () => timed(() => listed(large, undefined)),
    laterOfSmall: () => timed(() => listed(small, fifth)),
    later: () => timed(() => listed(large, far)),
  });
  const held = (what: string, measured: number, peer: number) =>
    atMostTimes(
      `a list page of ${PAGE} with 1,000,000 streams, ${what}`,
      measured,
      { name: 'with 1,000 streams', value: peer },
      { times: 1.3, unit: 'ms' },
    );
  return [held('first page', first, firstOfSmall), held('5,000th page', later, laterOfSmall)];
}

const listed = ({ store, user }: FilledStore, after: PageKey | undefined, limit = PAGE) =>
  store.streams.list(user.id, { limit, after, order: 'createdAt', direction: 'desc', filter: {} });

/** The cursor of the nth page. */
async function keyBefore(filled: FilledStore, nth: number): Promise<PageKey | undefined> {
  let after: PageKey | undefined;
  for (let left = (nth - 1) * PAGE; left > 0; left -= 1000) {
    ({ next: after } = await listed(filled, after, Math.min(1000, left)));
  }
  return after;
}
