import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { User } from '#domain/user.ts';
import { DAY_MS, HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someQuotas, someUser } from '#test/support/sample-records.ts';
import { Housekeeping } from './housekeeping.ts';

const NOW = 100 * DAY_MS;
const clock = { now: () => ms(NOW), monotonic: () => ms(0) };

/**
 * A store with this many rows due for deletion, which records the deletions it is asked for.
 * @param extra the number of sessions that each user has too many
 * @param webhooks methods of its webhooks
 * @param events methods of its events
 */
function storeOf(due: number, extra: Record<string, number> = {}, webhooks: object = {}, events: object = {}) {
  const asked: string[] = [];
  const deleting = (what: string) => {
    let left = due;
    return async (before: Milliseconds, limit: number) => {
      asked.push(`${what} before ${before / DAY_MS}`);
      const deleted = Math.min(left, limit);
      left -= deleted;
      return deleted;
    };
  };
  const kept: unknown[] = [];
  const store = {
    users: { get: async (id: string) => USERS[id] },
    sessions: {
      deleteEnded: deleting('sessions'),
      usersWithEnded: async (since: Milliseconds): Promise<readonly string[]> => {
        kept.push({ since: since - NOW });
        return [];
      },
      deleteBeyond: async (id: string, keep: number, limit: number) => {
        kept.push({ id, keep });
        const deleted = Math.min(extra[id] ?? 0, limit);
        extra[id] = (extra[id] ?? 0) - deleted;
        return deleted;
      },
    },
    assets: { forget: deleting('deleted assets') },
    usage: { deleteOlder: deleting('usage') },
    streams: { forgetFormerKeys: deleting('former keys'), forgetDeleted: deleting('deleted streams') },
    audit: { deleteOlder: deleting('audit') },
    idempotency: { deleteOlder: deleting('answers') },
    browserSessions: { deleteOver: async () => 0 },
    events: { deleteOlder: deleting('events'), areAhead: async () => false, ...events },
    webhooks: {
      expire: deleting('deliveries tried'),
      deleteLog: deleting('webhook logs'),
      deleteDead: deleting('dead deliveries'),
      deleteWithoutEvent: async () => {
        asked.push('deliveries without event');
        return 0;
      },
      forgetDeleted: async () => {
        asked.push('deleted webhooks');
        return 0;
      },
      waiting: async () => [],
      ...webhooks,
    },
  };
  return {
    store: store as never,
    asked,
    kept,
    ended: (...ids: string[]) => {
      const { usersWithEnded } = store.sessions;
      store.sessions.usersWithEnded = async (since) => [...(await usersWithEnded(since)), ...ids];
    },
    failOnce: () => {
      const { deleteBeyond } = store.sessions;
      store.sessions.deleteBeyond = async () => {
        store.sessions.deleteBeyond = deleteBeyond;
        throw new MillraceError('store_unavailable', 'away');
      };
    },
    fail: (error: Error) => (store.idempotency.deleteOlder = async () => Promise.reject(error)),
  };
}

const QUOTAS = someQuotas({ sessions: 10 });

/** Users by id: one has the default quotas, one a quota of its own, and an admin has no limit. */
const USERS: Readonly<Record<string, User>> = {
  ann: someUser(),
  bob: someUser({ quotas: { sessions: 20 } }),
  root: someUser({ isAdmin: true }),
};

const OPTIONS = {
  clock,
  logger: silentLogger,
  quotas: QUOTAS,
  sessionRetentionDays: 0,
  auditRetentionDays: 0,
  eventRetentionDays: 30,
  webhookLogRetentionDays: 7,
} as const;

const turn = () => new Promise(setImmediate);

it('deletes everything that was kept long enough, in batches', async () => {
  const { store, asked } = storeOf(700);
  await using _ = new Housekeeping({
    store,
    quotas: QUOTAS,
    clock,
    logger: silentLogger,
    sessionRetentionDays: 30,
    auditRetentionDays: 7,
    eventRetentionDays: 20,
    webhookLogRetentionDays: 5,
  });
  while (asked.length < 24) await turn();
  await turn();
  assert.deepEqual(asked, [
    ...Array(2).fill('answers before 99'),
    ...Array(2).fill('former keys before 99'),
    ...Array(2).fill('deleted streams before 96'),
    ...Array(2).fill('sessions before 70'),
    ...Array(2).fill('usage before 70'),
    ...Array(2).fill('deleted assets before 70'),
    ...Array(2).fill('audit before 93'),
    ...Array(2).fill('deliveries tried before 97'),
    ...Array(2).fill('webhook logs before 95'),
    ...Array(2).fill('dead deliveries before 80'),
    ...Array(2).fill('events before 80'),
    'deliveries without event',
    'deleted webhooks',
  ]);
});

it('keeps forever what has a retention of 0 days', async () => {
  const { store, asked } = storeOf(0);
  {
    await using _ = new Housekeeping({ ...OPTIONS, store });
    while (!asked.includes('deleted webhooks')) await turn();
  }
  assert.deepEqual(asked, [
    'answers before 99',
    'former keys before 99',
    'deleted streams before 96',
    'deliveries tried before 97',
    'webhook logs before 93',
    'dead deliveries before 70',
    'events before 70',
    'deliveries without event',
    'deleted webhooks',
  ]);
});

it('disables a webhook for which too many deliveries wait, and keeps the latest of those given up', async () => {
  const asked: unknown[] = [];
  const { store } = storeOf(
    0,
    {},
    {
      waiting: async () => ['full', 'failing'],
      hasMoreWaiting: async (id: string, count: number) => id === 'full' && count === 100_000,
      get: async (id: string) => ({ id }),
      disable: async ({ id }: { id: string }, reason: string) => void asked.push(`${id} ${reason}`),
      deleteDeadBeyond: async (id: string, kept: number, limit: number) => {
        asked.push(`${id} keeps ${kept}`);
        return asked.length === 3 ? limit : 0;
      },
    },
  );
  await using _ = new Housekeeping({ ...OPTIONS, store });
  while (asked.length < 4) await turn();
  await turn();
  assert.deepEqual(asked, [
    'full too_many_deliveries',
    'full keeps 100000',
    'failing keeps 100000',
    'failing keeps 100000',
  ]);
});

it('sets times of events back that have been ahead for a whole day without a break', async () => {
  const asked: string[] = [];
  const hours: readonly (readonly [number, boolean])[] = [
    [0, true],
    [23, true],
    [24, false],
    [25, true],
    [48, true],
    [49, true],
  ];
  let round = -1;
  const { store } = storeOf(
    0,
    {},
    {},
    {
      areAhead: async (byMs: number) => {
        round += 1;
        assert.equal(byMs, HOUR_MS);
        return hours[round]?.[1] ?? false;
      },
      setBack: async (_: number, limit: number) => {
        asked.push(`after ${hours[round]?.[0]} hours`);
        return asked.length === 1 ? limit : 0;
      },
    },
  );
  const passing = { now: () => ms(NOW), monotonic: () => ms((hours[Math.min(round, 5)]?.[0] ?? 0) * HOUR_MS) };
  {
    await using _ = new Housekeeping({ ...OPTIONS, store, clock: passing, intervalMs: 1 });
    while (round < 6) await turn();
  }
  assert.deepEqual(asked, ['after 49 hours', 'after 49 hours']);
});

it('keeps only as many sessions as the quota for each user whose sessions ended, and deletes the others in batches', async () => {
  const { store, kept, ended } = storeOf(0, { ann: 1200, bob: 1 });
  ended('ann', 'bob', 'root', 'nobody');
  {
    await using _ = new Housekeeping({ ...OPTIONS, store });
    while (kept.length < 5) await turn();
    await turn();
  }
  assert.deepEqual(kept, [{ since: -3_660_000 }, ...Array(3).fill({ id: 'ann', keep: 10 }), { id: 'bob', keep: 20 }]);
});

it('looks at sessions that ended since a minute before the last successful round', async () => {
  const { store, kept, ended, failOnce } = storeOf(0);
  ended('ann');
  failOnce();
  const time = { ms: NOW };
  const now = () => {
    time.ms += 1000;
    return ms(time.ms);
  };
  const passing = { now, monotonic: () => ms(0) };
  {
    await using _ = new Housekeeping({ ...OPTIONS, store, clock: passing, intervalMs: 1 });
    while (kept.length < 5) await turn();
  }
  const since = kept.filter((each) => typeof each === 'object' && each !== null && 'since' in each);
  assert.deepEqual(since.slice(0, 3), [{ since: -3_659_000 }, { since: -3_659_000 }, { since: -57_000 }]);
});

it('tries again after the store was down, and logs it', async () => {
  const { store, asked, fail } = storeOf(0);
  const lines: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void lines.push(message) };
  fail(new MillraceError('store_unavailable', 'away'));
  await using _ = new Housekeeping({
    ...OPTIONS,
    store,
    logger,
    sessionRetentionDays: 1,
    auditRetentionDays: 1,
    intervalMs: 1,
  });
  while (lines.length < 2) await turn();
  assert.deepEqual(lines.slice(0, 2), [
    'housekeeping failed; it is tried again',
    'housekeeping failed; it is tried again',
  ]);
  // What failed keeps nothing else from being deleted.
  assert.ok(asked.includes('deliveries without event'));
});
