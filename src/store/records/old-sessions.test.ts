import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import type { PageKey } from '#store/page.ts';
import { type OldSessionList, OldSessions } from './old-sessions.ts';

/** Old sessions by their times, of which some have a recording. Tells how many each query looked at. */
function setUp(sessions: { at: number; isRecorded: boolean }[]) {
  const looked = { nth: 0, read: 0, written: 0 };
  const time = { now: 0 };
  const within = (after: PageKey | undefined, until?: PageKey) =>
    sessions.filter(({ at }) => at > (after?.at ?? -1) && at <= (until?.at ?? Number.POSITIVE_INFINITY));
  const list: OldSessionList = {
    name: 'ended',
    async nth(after, skip) {
      looked.nth += 1;
      const found = within(after)[skip];
      return found && { at: ms(found.at), id: '' };
    },
    async hasAny(after, until) {
      const window = within(after, until);
      looked.read += window.length;
      return window.some(({ isRecorded }) => !isRecorded);
    },
    async deleteSome(after, until, limit) {
      const window = within(after, until);
      looked.written = Math.max(looked.written, window.length);
      const deleted = window.filter(({ isRecorded }) => !isRecorded).slice(0, limit);
      for (const each of deleted) sessions.splice(sessions.indexOf(each), 1);
      return deleted.length;
    },
  };
  const old = new OldSessions({ monotonic: () => ms(time.now) });
  const all = async (limit: number) => {
    let calls = 1;
    while ((await old.delete(list, limit)) === limit) calls += 1;
    return calls;
  };
  return { looked, time, all, sessions };
}

const sessionsOf = (count: number, isRecorded: (at: number) => boolean) =>
  Array.from({ length: count }, (_, at) => ({ at, isRecorded: isRecorded(at) }));

test('old sessions without a recording are deleted, wherever they are', async () => {
  const { all, sessions, looked } = setUp(sessionsOf(12_345, (at) => at % 100 !== 0));
  await all(500);
  assert.equal(sessions.length, 12_345 - 124);
  assert.ok(sessions.every(({ isRecorded }) => isRecorded));
  assert.ok(looked.written <= 1000, 'a write looks at one window');
});

test('sessions with a recording are never looked at by a write, and seldom by a read', async () => {
  const { all, looked, time, sessions } = setUp(sessionsOf(120_500, () => true));
  assert.equal(await all(500), 3, 'a call looks at a bounded number');
  assert.equal(looked.read, 120_500);
  for (let round = 0; round < 10; round += 1) await all(500);
  assert.equal(looked.read, 120_500 + 10 * 500, 'only the last ones');
  assert.equal(looked.written, 0);
  sessions[7]!.isRecorded = false;
  await all(500);
  assert.equal(sessions.length, 120_500);
  time.now += 3_600_000;
  await all(500);
  assert.equal(sessions.length, 120_499, 'an hour later, its recording was deleted');
});
