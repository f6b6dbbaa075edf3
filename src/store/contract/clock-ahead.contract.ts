/**
 * The part of the contract suite about times that were stored while the clock of the database was ahead. Only SQL can make such times.
 */
import assert from 'node:assert/strict';
import { newUserId } from '#domain/ids.ts';
import { DAY_MS, HOUR_MS, ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { someReceipt, someStream, someUser, someWebhook } from '#test/support/sample-records.ts';

const YEARS_MS = 300_000_000_000;

/**
 * Checks that an empty store recovers from a clock that was years ahead while events were numbered, deliveries failed, or a webhook was leased.
 * @param run runs SQL on the database of the store
 */
export async function recoversFromClockAhead(store: Store, run: (sql: string) => Promise<unknown>): Promise<void> {
  const user = await store.users.ensure(someUser());
  const add = async (count: number) => {
    for (let n = 0; n < count; n += 1) await store.streams.create(someStream(user.id), someReceipt());
    while ((await store.events.number(100)) > 0);
  };
  const list = async (filter: object = {}) =>
    (await store.events.list(user.id, { limit: 100, direction: 'asc', filter })).map(({ sequence }) => sequence);
  const webhook = someWebhook(user.id, { events: ['stream.created'] });
  await add(1);
  await store.webhooks.create(webhook, someReceipt());
  await add(4);
  await run(`update events set recorded_at = recorded_at + ${YEARS_MS} where sequence > 1;
    update event_sequence set recorded_at = recorded_at + ${YEARS_MS};
    update webhook_deliveries set created_at = created_at + ${YEARS_MS}, next_at = next_at + ${YEARS_MS};
    update webhooks set due_at = due_at + ${YEARS_MS}, leased_until = due_at + ${YEARS_MS}, lease = '${newUserId()}'`);

  await add(1);
  const present = { from: ms(Date.now() - HOUR_MS), to: ms(Date.now() + HOUR_MS) };
  assert.deepEqual(await list(present), [1], 'the times of a list never go back, so the new event is ahead, too');
  assert.equal(await store.events.areAhead(HOUR_MS), true);
  assert.equal(await store.events.areAhead(2 * YEARS_MS), false);
  assert.ok((await store.webhooks.nextDueInMs())! > HOUR_MS);

  assert.equal(await store.events.setBack(HOUR_MS, 3), 3);
  await add(1);
  assert.equal(await store.events.areAhead(HOUR_MS), true);
  while ((await store.events.setBack(HOUR_MS, 3)) === 3);
  assert.equal(await store.events.areAhead(HOUR_MS), false);
  await add(1);
  assert.deepEqual(await list(present), await list());
  assert.equal((await list()).length, 8);
  assert.deepEqual(
    (await store.webhooks.claimDue({ leaseMs: 1000, limit: 10 })).map(({ id }) => id),
    [webhook.id],
  );
  assert.equal((await store.webhooks.due(webhook.id, 10)).length, 7);

  // Attempts that failed while the clock was ahead, of deliveries from before, and a wait that a receiver asked for.
  await run(`update webhook_deliveries set next_at = next_at + ${YEARS_MS};
    update webhook_deliveries set next_at = next_at - ${YEARS_MS} + ${DAY_MS}
      where sequence = (select max(sequence) from webhook_deliveries)`);
  await store.webhooks.release(webhook.id);
  assert.equal(await store.events.areAhead(HOUR_MS), true);
  assert.equal(await store.events.setBack(HOUR_MS, 3), 3);
  while ((await store.events.setBack(HOUR_MS, 3)) === 3);
  assert.equal((await store.webhooks.due(webhook.id, 10)).length, 6);
  const claim = async () => (await store.webhooks.claimDue({ leaseMs: 1000, limit: 10 })).length;
  assert.equal(await claim(), 1);
  await run(`update webhooks set leased_until = ${Date.now() + YEARS_MS}, lease = '${newUserId()}'`);
  assert.equal(await claim(), 0);
  assert.equal(await store.events.areAhead(HOUR_MS), true);
  await store.events.setBack(HOUR_MS, 3);
  assert.equal(await store.events.areAhead(HOUR_MS), false);
  assert.equal(await claim(), 1);
  await run('delete from webhook_deliveries where next_at < (select max(next_at) from webhook_deliveries)');
  await store.webhooks.release(webhook.id);
  assert.equal(await store.events.areAhead(HOUR_MS), false, 'a wait of a day is no sign of a clock that was ahead');

  assert.ok((await store.events.deleteOlder(present.to, 100)) === 8);
}
