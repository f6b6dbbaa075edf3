import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { Housekeeping } from './housekeeping.ts';

const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS;
const clock = { now: () => ms(NOW), monotonic: () => ms(0) };

/** A store of so many rows that are due, which notes what it was asked to delete. */
function storeOf(due: number) {
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
  const store = {
    sessions: { deleteEnded: deleting('sessions') },
    audit: { deleteOlder: deleting('audit') },
    idempotency: { deleteOlder: deleting('answers') },
  };
  return {
    store: store as never,
    asked,
    fail: (error: Error) => (store.idempotency.deleteOlder = async () => Promise.reject(error)),
  };
}

const turn = () => new Promise(setImmediate);

it('deletes what was kept long enough, in batches until nothing is left', async () => {
  const { store, asked } = storeOf(700);
  await using _ = new Housekeeping({
    store,
    clock,
    logger: silentLogger,
    sessionRetentionDays: 30,
    auditRetentionDays: 7,
  });
  while (asked.length < 6) await turn();
  await turn();
  assert.deepEqual(asked, [
    ...Array(2).fill('answers before 99'),
    ...Array(2).fill('sessions before 70'),
    ...Array(2).fill('audit before 93'),
  ]);
});

it('keeps for ever what is to be kept 0 days', async () => {
  const { store, asked } = storeOf(0);
  {
    await using _ = new Housekeeping({
      store,
      clock,
      logger: silentLogger,
      sessionRetentionDays: 0,
      auditRetentionDays: 0,
    });
    while (asked.length < 1) await turn();
  }
  assert.deepEqual(asked, ['answers before 99']);
});

it('tries again after a store that was away, and says so', async () => {
  const { store, asked, fail } = storeOf(0);
  const lines: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void lines.push(message) };
  fail(new MillraceError('store_unavailable', 'away'));
  await using _ = new Housekeeping({
    store,
    clock,
    logger,
    sessionRetentionDays: 1,
    auditRetentionDays: 1,
    intervalMs: 1,
  });
  while (lines.length < 2) await turn();
  assert.deepEqual(lines.slice(0, 2), ['housekeeping put off', 'housekeeping put off']);
  assert.deepEqual(asked, []);
});
