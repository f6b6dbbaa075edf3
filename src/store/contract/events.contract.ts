/**
 * The part of the contract suite about events, webhooks and deliveries.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EventType, ServiceEvent } from '#domain/events.ts';
import { newEventId, newWebhookLogId, type StreamId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { Webhook } from '#domain/webhook.ts';
import { ms } from '#lib/units.ts';
import type { PageKey } from '#store/page.ts';
import type { DeliveryOutcome } from '#store/webhook-store.ts';
import { someNode, someReceipt, someSession, someStream, someWebhook } from '#test/support/sample-records.ts';
import { describeOn, type Fixture, type OpenStore } from './suite.contract.ts';

/** Declares this part of the suite. */
export function eventsContract(name: string, open: OpenStore): void {
  describeOn(`${name}, as a list of events`, open, (fixture) => eventList(fixture));
  describeOn(`${name}, delivering to webhooks`, open, (fixture) => deliveries(fixture));
}

const idle = { isActive: false, lastSeen: ms(1), health: undefined };
const active = { ...idle, isActive: true };

/** Numbers all events, and returns those of the test's user, oldest first. */
async function numbered({ store, user }: Fixture, streamId?: StreamId): Promise<readonly ServiceEvent[]> {
  while ((await store.events.number(100)) > 0);
  const filter = streamId === undefined ? {} : { streamId };
  return store.events.list(user.id, { limit: 1000, direction: 'asc', filter });
}

async function createStream({ store, user }: Fixture): Promise<Stream> {
  const stream = someStream(user.id);
  await store.streams.create(stream, someReceipt());
  return stream;
}

const typesOf = (events: readonly ServiceEvent[]): EventType[] => events.map(({ type }) => type);

function eventList(fixture: Fixture): void {
  it('has an event for each change that was made, and none for one that was not', async () => {
    const { store, user } = fixture;
    const stream = await createStream(fixture);
    await store.streams.change(stream.id, user.id, { name: 'x' }, someReceipt());
    await store.streams.change(stream.id, someStream(user.id).id as never, { name: 'y' }, someReceipt());
    await assert.rejects(store.streams.create(stream, someReceipt()));
    for (const activity of [active, active, idle, idle, active]) await store.streams.setActivity(stream.id, activity);
    await store.streams.delete([stream.id], user.id, [someReceipt()]);
    assert.equal(await store.streams.delete([stream.id], user.id, [someReceipt()]), false);
    await store.streams.setActivity(stream.id, idle);
    assert.deepEqual(typesOf(await numbered(fixture)), [
      'stream.created',
      'stream.updated',
      'stream.started',
      'stream.idle',
      'stream.started',
      'stream.deleted',
      'stream.idle',
    ]);
  });

  it('has one event for the start and one for the end of each session, however often the session is written', async () => {
    const { store } = fixture;
    const stream = await createStream(fixture);
    const [first, second] = [0, 1].map(() => someSession(stream, { phase: 'live' }));
    for (const _ of [1, 2]) await store.sessions.create(first!);
    await store.sessions.change(first!.id, { phase: 'reconnecting' });
    const end = { phase: 'ended', endedAt: ms(9), endReason: 'terminated' } as const;
    for (const _ of [1, 2]) await store.sessions.change(first!.id, end);
    await store.sessions.create({ ...second!, ...end });
    const events = (await numbered(fixture, stream.id)).slice(1);
    assert.deepEqual(
      events.map(({ type, sessionId }) => [type, sessionId]),
      [
        ['session.started', first!.id],
        ['session.ended', first!.id],
        ['session.started', second!.id],
        ['session.ended', second!.id],
      ],
    );
    assert.deepEqual(
      events
        .filter(({ type }) => type === 'session.ended')
        .map(({ at, payload }) => [at, 'reason' in payload && payload.reason]),
      [
        [9, 'terminated'],
        [9, 'terminated'],
      ],
    );
  });

  it('has one event for each session that a lost node ended, and one for a session that is resumed', async () => {
    const { store } = fixture;
    const stream = await createStream(fixture);
    const node = someNode();
    await store.nodes.renew(node, 60_000);
    await store.publishers.claim(stream.id, node.id);
    const session = someSession(stream, { phase: 'live', nodeId: node.id });
    await store.sessions.create(session, node.id);
    await store.streams.setActivity(stream.id, active, node.id);
    await store.nodes.renew(node, -1);
    await Promise.all([1, 2, 3].map(() => store.nodes.endSessionsOf(node.id, ms(50))));
    await store.nodes.renew(node, 60_000);
    await store.sessions.resume(session, { phase: 'live' }, node.id);
    await store.streams.setActivity(stream.id, active, node.id);
    const events = (await numbered(fixture, stream.id)).slice(1);
    assert.deepEqual(typesOf(events), [
      'session.started',
      'stream.started',
      'session.ended',
      'stream.idle',
      'session.started',
      'stream.started',
    ]);
    assert.deepEqual(events[4]!.payload, { isResumed: true });
  });

  it('never inserts an event before one that was readable, however writes overlap', async () => {
    const { store, user } = fixture;
    const seen: number[] = [];
    let isWriting = true;
    const reading = (async () => {
      for (let after = await store.events.last(); isWriting; after = seen.at(-1) ?? after) {
        await store.events.number(7);
        const options = { limit: 5, direction: 'asc', after, filter: {} } as const;
        seen.push(...(await store.events.list(user.id, options)).map(({ sequence }) => sequence));
      }
    })();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let count = 0; count < 10; count += 1) await createStream(fixture);
      }),
    );
    isWriting = false;
    await reading;
    const all = (await numbered(fixture)).map(({ sequence }) => sequence);
    assert.equal(all.length, 80);
    assert.deepEqual(seen, all.slice(0, seen.length));
  });

  it('stores an event without a change once, however often it is added', async () => {
    const { store } = fixture;
    const { id: streamId } = await createStream(fixture);
    const payload = { code: 'timestamps_jumped' } as const;
    const event = {
      id: newEventId(),
      type: 'session.warning_cleared',
      at: ms(4),
      streamId,
      sessionId: undefined,
      payload,
    } as const;
    for (const _ of [1, 2]) await store.events.add([event]);
    const [, added, ...more] = await numbered(fixture);
    assert.deepEqual([added?.id, added?.payload, more.length], [event.id, payload, 0]);
  });

  it('deletes the oldest events, and continues the numbers', async () => {
    const { store } = fixture;
    for (let count = 0; count < 3; count += 1) await createStream(fixture);
    await numbered(fixture);
    const last = await store.events.last();
    while ((await store.events.deleteOlder(ms(Date.now() + 3_600_000), 2)) === 2);
    assert.deepEqual(await numbered(fixture), []);
    await createStream(fixture);
    assert.ok((await numbered(fixture))[0]!.sequence > last);
  });
}

function deliveries(fixture: Fixture): void {
  const create = async (change: Partial<Webhook> = {}) => {
    const webhook = someWebhook(fixture.user.id, { events: ['stream.created'], ...change });
    await fixture.store.webhooks.create(webhook, someReceipt());
    return webhook;
  };
  /** Leases the due webhooks, and returns those that this process holds. */
  const claim = async () =>
    (await fixture.store.webhooks.claimDue({ leaseMs: 60_000, limit: 100 })).map(({ id }) => id);
  const outcome = (event: ServiceEvent, webhook: Webhook, result: DeliveryOutcome['result']): DeliveryOutcome => ({
    sequence: event.sequence,
    result,
    log: {
      id: newWebhookLogId(),
      webhookId: webhook.id,
      userId: webhook.userId,
      eventId: event.id,
      type: event.type,
      streamId: event.streamId,
      at: ms(5),
      durationMs: 1,
      success: result.type === 'delivered',
      attempt: 1,
      url: webhook.url,
      requestBody: '{}',
      statusCode: result.type === 'delivered' ? 200 : 500,
      responseBody: '',
      error: result.type === 'delivered' ? undefined : 'The attempt failed.',
    },
  });

  it('makes a delivery for each webhook that subscribes to an event, and leases each webhook once', async () => {
    const { store } = fixture;
    const stream = await createStream(fixture);
    await numbered(fixture);
    const hears = [await create(), await create({ streamId: stream.id, events: ['stream.updated'] })];
    await create({ events: ['stream.deleted'] });
    await create({ disabled: { at: ms(1), reason: 'user' } });
    await createStream(fixture);
    await store.streams.change(stream.id, 'everyone', { name: 'x' }, someReceipt());
    await numbered(fixture);
    assert.ok((await store.webhooks.nextDueInMs())! <= 0);
    const claims = await Promise.all([claim(), claim(), claim()]);
    const claimed = new Set(claims.flat());
    for (const { id } of hears) assert.ok(claimed.has(id));
    const renewed = await store.webhooks.renewLeases(60_000);
    for (const { id } of hears) assert.ok(renewed.includes(id));
    for (const { id } of hears) {
      const due = await store.webhooks.due(id, 10);
      assert.equal(due.length, 1);
      assert.ok(due[0]!.ageMs >= 0);
    }
  });

  it('delivers a test event to its webhook only, whatever events and stream the webhook has chosen', async () => {
    const { store, user } = fixture;
    const { id: streamId } = await createStream(fixture);
    const tested = await create({ events: [], streamId });
    const others = [await create({ events: ['webhook.test'] }), await create({ events: [] })];
    const event = {
      id: newEventId(),
      type: 'webhook.test',
      at: ms(3),
      userId: user.id,
      streamId: undefined,
      sessionId: undefined,
      payload: { webhookId: tested.id },
    } as const;
    assert.equal(await store.webhooks.test(event, someReceipt()), true);
    await numbered(fixture);
    assert.ok((await claim()).includes(tested.id));
    assert.deepEqual(
      (await store.webhooks.due(tested.id, 10)).map((due) => due.event.id),
      [event.id],
    );
    for (const { id } of others) assert.deepEqual(await store.webhooks.due(id, 10), []);
    await store.webhooks.delete([tested.id], user.id, [someReceipt()]);
    assert.equal(await store.webhooks.test({ ...event, id: newEventId() }, someReceipt()), false);
  });

  it('deletes successful deliveries, keeps the others, and releases the lease with the next due time', async () => {
    const { store } = fixture;
    const webhook = await create();
    for (let count = 0; count < 3; count += 1) await createStream(fixture);
    await numbered(fixture);
    await claim();
    const due = await store.webhooks.due(webhook.id, 10);
    const results = [{ type: 'delivered' }, { type: 'retry', delayMs: 3_600_000 }, { type: 'dead' }] as const;
    await store.webhooks.record(
      webhook.id,
      due.map(({ event }, index) => outcome(event, webhook, results[index]!)),
    );
    assert.deepEqual(await store.webhooks.due(webhook.id, 10), []);
    const { rows: left } = await store.webhooks.deliveries(webhook.id, {}, { limit: 10 });
    assert.deepEqual(
      left.map(({ state, attempts }) => [state, attempts]),
      [
        ['dead', 1],
        ['pending', 1],
      ],
    );
    const { rows } = await store.webhooks.log(webhook.id, { success: false }, { limit: 10 });
    assert.equal(rows.length, 2);
    assert.equal((await store.webhooks.get(webhook.id, 'everyone'))?.lastFailure?.error, 'The attempt failed.');
    await store.webhooks.release(webhook.id);
    assert.ok(!(await store.webhooks.renewLeases(60_000)).includes(webhook.id));
    assert.ok(!(await claim()).includes(webhook.id), 'the next attempt is due in an hour');
  });

  it('makes failed deliveries due again in steps, of the events since a time', async () => {
    const { store } = fixture;
    const webhook = await create();
    const sequences: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      await createStream(fixture);
      sequences.push((await numbered(fixture)).at(-1)!.sequence);
    }
    const due = (await store.webhooks.due(webhook.id, 10)).map(({ event }) => event);
    const [notTried, ...tried] = due.toSorted((a, b) => a.sequence - b.sequence);
    const results = [{ type: 'dead' }, { type: 'retry', delayMs: 3_600_000 }] as const;
    await store.webhooks.record(
      webhook.id,
      tried.map((event, index) => outcome(event, webhook, results[index % 2]!)),
    );
    const dueNow = async () => (await store.webhooks.due(webhook.id, 10)).map(({ event }) => event.sequence);
    await claim();
    await store.webhooks.release(webhook.id);
    assert.deepEqual(await dueNow(), [notTried!.sequence]);
    assert.equal(await store.webhooks.resendSince(webhook.id, ms(Date.now() + 3_600_000), someReceipt()), true);
    assert.equal((await store.webhooks.get(webhook.id, 'everyone'))?.resendAfter, undefined, 'no event is so late');

    assert.equal(await store.webhooks.resendSince(webhook.id, ms(0), someReceipt()), true);
    const seen: number[] = [];
    for (;;) {
      const found = (await store.webhooks.get(webhook.id, 'everyone'))!;
      if (found.resendAfter === undefined) break;
      await store.webhooks.resendSome(found, 2);
      seen.push((await dueNow()).length);
      // A repeat of the same step changes nothing.
      await store.webhooks.resendSome(found, 2);
      assert.equal((await dueNow()).length, seen.at(-1));
    }
    assert.deepEqual(seen, [2, 4, 6, 6]);
    assert.deepEqual(new Set(await dueNow()), new Set(sequences));

    await store.webhooks.settle(
      webhook.id,
      sequences.map((sequence) => ({ sequence, result: { type: 'dead' } })),
    );
    await claim();
    await store.webhooks.release(webhook.id);
    assert.ok(!(await claim()).includes(webhook.id), 'nothing waits');
    await store.webhooks.resendSince(webhook.id, ms(0), someReceipt());
    for (const _ of [1, 2]) {
      assert.ok((await claim()).includes(webhook.id), 'it is due for as long as something is to become due');
      await store.webhooks.release(webhook.id);
    }
  });

  it('stores results without entries in the log', async () => {
    const { store } = fixture;
    const webhook = await create();
    for (let count = 0; count < 3; count += 1) await createStream(fixture);
    await numbered(fixture);
    const due = await store.webhooks.due(webhook.id, 10);
    const results = [{ type: 'delivered' }, { type: 'retry', delayMs: 3_600_000 }, { type: 'dead' }] as const;
    await store.webhooks.settle(
      webhook.id,
      due.map(({ event }, index) => ({ sequence: event.sequence, result: results[index]! })),
    );
    const { rows: left } = await store.webhooks.deliveries(webhook.id, {}, { limit: 10 });
    assert.deepEqual(
      left.map(({ state, attempts }) => [state, attempts]),
      [
        ['dead', 1],
        ['pending', 1],
      ],
    );
    assert.deepEqual((await store.webhooks.log(webhook.id, {}, { limit: 10 })).rows, []);
  });

  it('keeps the latest 10,000 entries in the log of a webhook', async () => {
    const { store, user } = fixture;
    const [webhook, other] = [await create(), await create()];
    await createStream(fixture);
    const event = (await numbered(fixture)).at(-1)!;
    const { log } = outcome(event, webhook, { type: 'delivered' });
    const write = (to: Webhook, at: number, count: number) =>
      store.webhooks.record(
        to.id,
        Array.from({ length: count }, (_, index) => ({
          sequence: event.sequence,
          result: { type: 'delivered' },
          log: { ...log, id: newWebhookLogId(), webhookId: to.id, at: ms(at + index) },
        })),
      );
    await write(other, 1, 1);
    // Of so many entries at once, the store deletes old ones with each write.
    for (let at = 0; at < 10_500; at += 500) await write(webhook, at, 500);
    const entries = async ({ id }: Webhook) => {
      const times: number[] = [];
      for (let after: PageKey | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const page = await store.webhooks.log(id, {}, { limit: 1000, after });
        times.push(...page.rows.map(({ at }) => at));
        after = page.next;
      }
      return times;
    };
    const kept = await entries(webhook);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [10_000, 10_499, 500]);
    // Of a log that is much too long, the oldest entries are deleted first, so that it has no hole.
    await write(webhook, 10_500, 1500);
    const long = await entries(webhook);
    assert.deepEqual([long.length, long[0], long.at(-1)], [11_000, 11_999, 1000]);
    assert.equal((await entries(other)).length, 1);
    await store.webhooks.delete([webhook.id], user.id, [someReceipt()]);
    while ((await store.webhooks.forgetDeleted(500)) === 500);
  });

  it('loses no delivery that is made while a lease is released', async () => {
    const { store } = fixture;
    const webhook = await create();
    for (let round = 0; round < 20; round += 1) {
      await createStream(fixture);
      await Promise.all([store.events.number(10), store.webhooks.release(webhook.id)]);
      await claim();
      const due = await store.webhooks.due(webhook.id, 10);
      assert.equal(due.length, 1, `round ${round}`);
      await store.webhooks.record(
        webhook.id,
        due.map(({ event }) => outcome(event, webhook, { type: 'delivered' })),
      );
    }
    await store.webhooks.release(webhook.id);
  });

  it('disables a webhook once, adds an event for its user, and gives up its deliveries in steps', async () => {
    const { store } = fixture;
    const webhook = await create();
    for (let count = 0; count < 3; count += 1) await createStream(fixture);
    await numbered(fixture);
    assert.equal(await store.webhooks.giveUpSome(webhook.id, 2), 0, 'it is enabled');
    await store.webhooks.disable({ ...webhook, url: 'https://example.com/before-it-was-changed' }, 'gone', ms(5));
    for (const _ of [1, 2]) await store.webhooks.disable(webhook, 'gone', ms(6));
    assert.equal((await store.webhooks.get(webhook.id, 'everyone'))?.disabled?.at, 6);
    const created = Array(3).fill('stream.created');
    assert.deepEqual(typesOf(await numbered(fixture)), [...created, 'webhook.disabled']);
    for (const given of [2, 1]) {
      assert.ok((await claim()).includes(webhook.id), 'it is due until all are given up');
      assert.equal(await store.webhooks.giveUpSome(webhook.id, 2), given);
      await store.webhooks.release(webhook.id);
    }
    assert.equal((await store.webhooks.deliveries(webhook.id, { state: 'dead' }, { limit: 5 })).rows.length, 3);
    assert.ok(!(await claim()).includes(webhook.id));

    await store.webhooks.change(webhook, { disabled: { at: ms(7), reason: 'user' } }, someReceipt());
    await store.webhooks.resendSince(webhook.id, ms(0), someReceipt());
    await store.webhooks.resendSome((await store.webhooks.get(webhook.id, 'everyone'))!, 100);
    assert.equal(await store.webhooks.giveUpSome(webhook.id, 2), 0, 'what waits for its user stays');
  });

  it('bounds the deliveries that wait, and keeps the latest ones that were given up', async () => {
    const { store } = fixture;
    const webhook = await create();
    const other = await create();
    for (let count = 0; count < 4; count += 1) await createStream(fixture);
    await numbered(fixture);
    const due = await store.webhooks.due(webhook.id, 10);
    assert.equal(await store.webhooks.hasMoreWaiting(webhook.id, 3), true);
    assert.equal(await store.webhooks.hasMoreWaiting(webhook.id, 4), false);
    const result = { type: 'dead' } as const;
    const given = due.map(({ event: { sequence } }) => sequence).sort((a, b) => a - b);
    // The oldest one still waits.
    await store.webhooks.settle(
      webhook.id,
      given.slice(1).map((sequence) => ({ sequence, result })),
    );
    assert.equal(await store.webhooks.hasMoreWaiting(webhook.id, 1), false);
    assert.equal(await store.webhooks.deleteDeadBeyond(webhook.id, 3, 10), 0);
    assert.deepEqual(
      [
        await store.webhooks.deleteDeadBeyond(webhook.id, 1, 1),
        await store.webhooks.deleteDeadBeyond(webhook.id, 1, 10),
        await store.webhooks.deleteDeadBeyond(webhook.id, 1, 10),
      ],
      [1, 1, 0],
    );
    const { rows } = await store.webhooks.deliveries(webhook.id, {}, { limit: 10 });
    assert.deepEqual(
      rows.map(({ sequence, state }) => [sequence, state]),
      [
        [given[3], 'dead'],
        [given[0], 'pending'],
      ],
    );
    assert.equal((await store.webhooks.due(other.id, 10)).length, 4);
  });

  it('deletes deliveries whose events have been deleted, so that they are not due for ever', async () => {
    const { store } = fixture;
    const webhook = await create();
    await createStream(fixture);
    await numbered(fixture);
    assert.equal(await store.webhooks.deleteWithoutEvent(100), 0);
    while ((await store.events.deleteOlder(ms(Date.now() + 3_600_000), 100)) === 100);
    assert.equal((await store.webhooks.deliveries(webhook.id, {}, { limit: 5 })).rows.length, 0);
    assert.ok((await claim()).includes(webhook.id));
    assert.ok((await store.webhooks.deleteWithoutEvent(100)) > 0);
    assert.equal(await store.webhooks.deleteWithoutEvent(100), 0);
    await store.webhooks.release(webhook.id);
    assert.ok(!(await claim()).includes(webhook.id));

    await createStream(fixture);
    await numbered(fixture);
    assert.equal(await store.webhooks.deleteWithoutEvent(100), 0);
    assert.equal((await store.webhooks.due(webhook.id, 5)).length, 1);
  });

  it('gives up deliveries that are too old, and deletes webhooks with their deliveries and logs', async () => {
    const { store, user } = fixture;
    const webhook = await create();
    await createStream(fixture);
    await numbered(fixture);
    assert.ok((await store.webhooks.waiting('', 100)).includes(webhook.id));
    while ((await store.webhooks.expire(ms(Date.now() + 3_600_000), 5)) === 5);
    const other = await create();
    await createStream(fixture);
    const [event] = await numbered(fixture);
    const log = outcome(event!, webhook, { type: 'dead' });
    await store.webhooks.record(webhook.id, [log]);
    assert.equal((await store.webhooks.deliveries(webhook.id, { state: 'dead' }, { limit: 5 })).rows.length, 1);
    assert.equal((await store.webhooks.deliveries(webhook.id, {}, { limit: 5 })).rows.length, 2);
    assert.equal(await store.webhooks.delete([webhook.id], user.id, [someReceipt()]), true);
    assert.equal(await store.webhooks.get(webhook.id, 'everyone'), undefined);
    assert.deepEqual(
      (await store.webhooks.ofEvent(user.id, 'stream.created', 5)).map(({ id }) => id),
      [other.id],
    );
    assert.equal(await store.webhooks.delete([webhook.id], user.id, [someReceipt()]), false);
    while ((await store.webhooks.forgetDeleted(1)) === 1);
    assert.deepEqual((await store.webhooks.deliveries(webhook.id, {}, { limit: 5 })).rows, []);
    assert.deepEqual((await store.webhooks.log(webhook.id, {}, { limit: 5 })).rows, []);
    assert.equal((await store.webhooks.due(other.id, 5)).length, 1);
  });
}
