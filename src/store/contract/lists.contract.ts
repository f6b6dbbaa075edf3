/**
 * The part of the contract suite about lists: every filter, order and direction, and reading page by page while others write.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as fc from 'fast-check';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import { ms } from '#lib/units.ts';
import type { ListFilter, ListOptions } from '#store/store.ts';
import { someReceipt, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { describeOn, type OpenStore, walk } from './suite.contract.ts';

/** Arbitrary times. They are few, so that pages end between rows with the same time. */
const someTime = fc.integer({ min: 0, max: 4 }).map(ms);
const how = fc.record({
  order: fc.constantFrom('createdAt', 'lastSeen'),
  direction: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 5 }),
  isEverybody: fc.boolean(),
});
const bounds = { from: someTime, to: someTime };
/** Names that would be confused by wildcards, an ASCII-only lower case, or unescaped patterns, and the texts to search for in them. */
const someName = fc.constantFrom('Show', 'sHoW 100%', 'Show_1', 'ShowX1', '\\Show\\', 'ÄRGER', 'ΟΔΟΣ', 'Straße');
const partOfName = fc.constantFrom(
  'show',
  'W',
  '%',
  '_',
  '\\',
  'show_',
  'ärg',
  'οδος',
  'STRASSE',
  'a\u0308',
  'nothing',
  ' ',
);

const LARGE_PROFILE = { width: 640, height: 360, bitrate: 500_000, fps: 30 };

/** Declares this part of the suite. */
export function listsContract(name: string, open: OpenStore): void {
  describeOn(`${name}, listing`, open, (fixture) => {
    it('gives every matching stream once, in order, and counts them, for any filter', async () => {
      const streams = fc.array(
        fc.record({
          createdAt: someTime,
          lastSeen: someTime,
          isActive: fc.boolean(),
          creatorId: fc.constantFrom('a', 'b', undefined),
          name: someName,
          isMine: fc.boolean(),
        }),
        { maxLength: 10 },
      );
      const filters = fc.record(
        { isActive: fc.boolean(), creatorId: fc.constantFrom('a', 'b'), name: partOfName, nth: fc.nat(9), ...bounds },
        { requiredKeys: [] },
      );
      await fc.assert(
        fc.asyncProperty(
          streams,
          filters,
          how,
          fc.constantFrom('id', 'playbackId'),
          async (rows, { nth, ...asked }, { isEverybody, ...page }, by) => {
            const { store } = fixture;
            const [mine, other] = [await store.users.ensure(someUser()), await store.users.ensure(someUser())];
            const made = rows.map(({ isMine, ...row }) => someStream(isMine ? mine.id : other.id, row));
            await Promise.all(made.map((stream) => store.streams.create(stream, someReceipt())));
            const one = nth === undefined ? undefined : made[nth];
            const filter: ListFilter = { ...asked, ...(one && { [by]: one[by] }) };
            const scope = isEverybody ? 'everyone' : mine.id;
            const expected = made
              .filter((stream) => scope === 'everyone' || stream.userId === scope)
              .filter((stream) => fits(stream, filter, page.order) && isEqualUnless(filter.isActive, stream.isActive))
              .filter((stream) => isEqualUnless(filter.creatorId, stream.creatorId));
            const ours = new Set<string>(made.map(({ id }) => id));
            const listed = await walk((key) => store.streams.list(scope, { ...page, filter, after: key }));
            assert.deepEqual(
              listed.map(({ id }) => id).filter((id) => ours.has(id)),
              inOrder(expected, page),
            );
            // With the scope of everybody, the streams of other runs are listed, too.
            assert.equal(await store.streams.count(scope, filter, page.order), listed.length);
            if (scope !== 'everyone') assert.equal(listed.length, expected.length);
          },
        ),
        { numRuns: 25 },
      );
    });

    it('ends a page once its rows have a megabyte, and gives the rest on the next pages', async () => {
      const { store, user } = fixture;
      // Each character takes 4 bytes, and the JSON of a stream has 50 kB.
      const name = '\u{1F40E}'.repeat(12_500);
      const profiles = [{ ...LARGE_PROFILE, name }];
      const made = Array.from({ length: 50 }, () => someStream(user.id, { profiles, name: 'Show' }));
      for (const stream of made) await store.streams.create(stream, someReceipt());
      const how = { limit: 1000, order: 'createdAt', direction: 'desc' } as const;
      for (const filter of [{}, { name: 'show' }]) {
        const pages: number[] = [];
        const listed = await walk(async (after) => {
          const page = await store.streams.list(user.id, { ...how, filter, after });
          pages.push(page.rows.length);
          return page;
        });
        assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set(made.map(({ id }) => id)));
        assert.equal(listed.length, made.length);
        assert.deepEqual(pages, [21, 21, 8], 'the last row of a page is the one with which it has a megabyte');
      }
      const many = await Promise.all(
        Array.from({ length: 12 }, () => store.streams.list(user.id, { ...how, filter: {}, after: undefined })),
      );
      assert.deepEqual(new Set(many.map(({ rows }) => rows.length)), new Set([21]), 'also when many are read at once');
    });

    it('gives every matching session once, in order, and counts them, for any filter', async () => {
      const sessions = fc.array(
        fc.record({
          createdAt: someTime,
          lastSeen: someTime,
          phase: fc.constantFrom('starting', 'live', 'reconnecting', 'ended'),
          record: fc.boolean(),
          name: someName,
          nthStream: fc.nat(2),
        }),
        { maxLength: 10 },
      );
      const filters = fc.record(
        {
          isActive: fc.boolean(),
          record: fc.boolean(),
          name: partOfName,
          nth: fc.nat(9),
          nthStream: fc.nat(2),
          ...bounds,
        },
        { requiredKeys: [] },
      );
      await fc.assert(
        fc.asyncProperty(
          sessions,
          filters,
          how,
          fc.constantFrom('id', 'playbackId'),
          async (rows, { nth, nthStream, ...asked }, { isEverybody, ...page }, by) => {
            const { store } = fixture;
            const [mine, other] = [await store.users.ensure(someUser()), await store.users.ensure(someUser())];
            const streams = [mine, mine, other].map(({ id }) => someStream(id));
            await Promise.all(streams.map((stream) => store.streams.create(stream, someReceipt())));
            const made = rows.map(({ nthStream: of, ...row }) => someSession(streams[of]!, row));
            await Promise.all(made.map((session) => store.sessions.create(session)));
            const one = nth === undefined ? undefined : made[nth];
            const parentId = nthStream === undefined ? undefined : streams[nthStream]!.id;
            const filter: ListFilter = { ...asked, ...(one && { [by]: one[by] }), ...(parentId && { parentId }) };
            const scope = isEverybody ? 'everyone' : mine.id;
            const expected = made
              .filter((session) => scope === 'everyone' || session.userId === scope)
              .filter((session) => fits(session, filter, page.order))
              .filter(({ phase }) => isEqualUnless(filter.isActive, phase === 'live'))
              .filter(
                ({ record, streamId }) => isEqualUnless(filter.record, record) && isEqualUnless(parentId, streamId),
              );
            const ours = new Set<string>(made.map(({ id }) => id));
            const listed = await walk((key) => store.sessions.list(scope, { ...page, filter, after: key }));
            assert.deepEqual(
              listed.map(({ id }) => id).filter((id) => ours.has(id)),
              inOrder(expected, page),
            );
            assert.equal(await store.sessions.count(scope, filter, page.order), listed.length);
            if (scope !== 'everyone') assert.equal(listed.length, expected.length);
          },
        ),
        { numRuns: 25 },
      );
    });

    it('skips no row that existed throughout and repeats none, while others insert and delete', async () => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom('asc', 'desc'), fc.integer({ min: 1, max: 7 }), async (direction, limit) => {
          const { store } = fixture;
          const owner = (await store.users.ensure(someUser())).id;
          const at = (n: number) => ({ createdAt: ms(n % 5) });
          const streams = Array.from({ length: 30 }, (_, n) => someStream(owner, at(n)));
          await Promise.all(streams.map((stream) => store.streams.create(stream, someReceipt())));
          const leaving = streams.filter((_, n) => n % 3 === 0).map(({ id }) => id);
          const staying = streams.filter((_, n) => n % 3 !== 0).map(({ id }) => id);
          const disturb = async () => {
            for (const [n, id] of leaving.entries()) {
              await store.streams.create(someStream(owner, at(n)), someReceipt());
              await store.streams.delete([id], owner, [someReceipt()]);
            }
          };
          const options = { limit, direction, order: 'createdAt', filter: {} } as const;
          const [walked] = await Promise.all([
            walk((after) => store.streams.list(owner, { ...options, after })),
            disturb(),
          ]);
          const ids = walked.map(({ id }) => id);
          assert.equal(new Set(ids).size, ids.length, 'a row was repeated');
          const seen = new Set(ids);
          assert.deepEqual(
            staying.filter((id) => !seen.has(id)),
            [],
            'a row was skipped',
          );
        }),
        { numRuns: 8 },
      );
    });

    it('returns the rows of the ids that exist', async () => {
      const { store, user } = fixture;
      const streams = Array.from({ length: 70 }, () => someStream(user.id));
      await Promise.all(streams.map((stream) => store.streams.create(stream, someReceipt())));
      const asked = [...streams.map(({ id }) => id), someStream(user.id).id];
      const found = await store.streams.getMany(asked);
      assert.deepEqual(found.map(({ id }) => id).toSorted(), streams.map(({ id }) => id).toSorted());
      assert.deepEqual(await store.streams.getMany([]), []);
    });

    it('lists users newest first, page by page', async () => {
      const { store } = fixture;
      const users = [2, 1, 2].map((age) => someUser({ createdAt: ms(age) }));
      for (const user of users) await store.users.ensure(user);
      const listed = await walk((after) => store.users.list({ limit: 2, after }));
      const expected = users.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
      const added = new Set(users.map(({ id }) => id));
      assert.deepEqual(
        listed.filter(({ id }) => added.has(id)),
        expected,
      );
      assert.equal(new Set(listed.map(({ id }) => id)).size, listed.length);
    });
  });
}

const isEqualUnless = <Value>(asked: Value | undefined, value: Value) => asked === undefined || asked === value;

/** Whether a stream or session matches the conditions that both have. */
function fits(row: Stream | Session, filter: ListFilter, order: ListOptions['order']): boolean {
  const { id, playbackId, name = '', from = -1, to = 9 } = filter;
  return (
    row.name.normalize('NFC').toUpperCase().includes(name.normalize('NFC').toUpperCase()) &&
    isEqualUnless(id, row.id) &&
    isEqualUnless(playbackId, row.playbackId) &&
    row[order] >= from &&
    row[order] <= to
  );
}

function inOrder(rows: readonly (Stream | Session)[], { order, direction }: Pick<ListOptions, 'order' | 'direction'>) {
  const ascending = rows.toSorted((a, b) => a[order] - b[order] || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
  return direction === 'asc' ? ascending : ascending.toReversed();
}
