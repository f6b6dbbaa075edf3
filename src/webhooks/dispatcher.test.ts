import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { ServiceEvent } from '#domain/events.ts';
import { newEventId, newUserId, newWebhookId, type UserId } from '#domain/ids.ts';
import type { WebhookLog } from '#domain/webhook.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { someWebhook } from '#test/support/sample-records.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { Sender, Sent } from './sender.ts';

/** The answer of a receiver that accepts everything. */
const NO_CONTENT = {
  statusCode: 204,
  retryAfter: undefined,
  body: Buffer.alloc(0),
  isComplete: true,
  durationMs: 1,
  error: undefined,
};

const someEvent = (): ServiceEvent => ({
  id: newEventId(),
  sequence: 1,
  type: 'webhook.test',
  at: ms(0),
  userId: newUserId(),
  streamId: undefined,
  sessionId: undefined,
  payload: { webhookId: newWebhookId() },
});

/**
 * A dispatcher without deliveries.
 * @param post sends what is sent again
 * @param webhooks methods of the store's webhooks
 */
function setUp(
  post: Sender['post'] = () => assert.fail('there is no event'),
  webhooks: object = {},
  change: Partial<DispatcherOptions> = {},
): Dispatcher {
  const store = {
    listen: () => ({ [Symbol.dispose]: () => {} }),
    streams: { getMany: async () => [] },
    webhooks: { nextDueInMs: async () => undefined, event: async () => someEvent(), ...webhooks },
  } as unknown as Store;
  return new Dispatcher({
    store,
    sender: { post },
    presentStream: () => assert.fail('there is no stream'),
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    ...change,
  });
}

test('a dispatcher that has closed leaves no timer that would keep its process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await setUp()[Symbol.asyncDispose]();
  assert.equal(timers(), before);
});

test('a user may send twenty events again at the same time, however slow the receiver is, and others are not affected', async () => {
  const answer = Promise.withResolvers<Sent>();
  await using dispatcher = setUp(() => answer.promise);
  const resend = (userId: UserId) =>
    dispatcher.resending.resend(someWebhook(userId), { eventId: newEventId(), attempt: 1 } as WebhookLog);
  const [ann, bob] = [newUserId(), newUserId()];
  const sent = Promise.allSettled([...Array.from({ length: 22 }, () => resend(ann)), resend(bob)]);
  answer.resolve(NO_CONTENT);
  const codes = (await sent).map((each) => (each.status === 'rejected' ? each.reason.code : each.value.log.success));
  assert.deepEqual(codes, [...Array(20).fill(true), 'too_many_requests', 'too_many_requests', true]);
  assert.ok((await resend(ann)).log.success);
});

test('a lease whose release fails is released a moment later, while another webhook keeps its queue', async () => {
  const [failing, other] = [newWebhookId(), newWebhookId()];
  const isOver = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<void>();
  let releases = 0;
  let isDue = true;
  await using _ = setUp(undefined, {
    nextDueInMs: async () => (isDue ? 0 : undefined),
    claimDue: async () => {
      isDue = false;
      return [{ id: failing }, { id: other }];
    },
    get: (id: string) => (id === other ? isOver.promise : undefined),
    release: async (id: string) => {
      if (id === other) return;
      releases += 1;
      if (releases === 1) throw new MillraceError('store_unavailable', 'It is away.');
      released.resolve();
    },
  });
  await released.promise;
  assert.equal(releases, 2);
  isOver.resolve(undefined);
});

for (const [what, isLost] of [
  ['that another process has leased in the meantime', true],
  ['whose lease could not be renewed in time', false],
] as const) {
  test(`nothing more is sent to a webhook ${what}`, { timeout: 60_000 }, async () => {
    const webhook = someWebhook(newUserId());
    const released = Promise.withResolvers<void>();
    let sequence = 0;
    let isDue = true;
    const sent: number[] = [];
    // Only a renewal that fails takes time, so that the lease cannot end before something was sent.
    let nowMs = 0;
    const clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
    const renewLeases = async () => {
      if (sent.length === 0) return [webhook.id];
      if (isLost) return [];
      nowMs += 150;
      throw new MillraceError('store_unavailable', 'It is away.');
    };
    const post: Sender['post'] = async () => {
      sent.push(sequence);
      return NO_CONTENT;
    };
    await using _ = setUp(
      post,
      {
        nextDueInMs: async () => (isDue ? 0 : undefined),
        claimDue: async () => {
          isDue = false;
          return [webhook];
        },
        get: async () => webhook,
        // There is always more to deliver.
        due: async () => {
          await new Promise(setImmediate);
          sequence += 1;
          return [{ event: { ...someEvent(), sequence }, attempts: 0, ageMs: 0, isRepeated: false }];
        },
        record: async () => {},
        renewLeases,
        release: async () => released.resolve(),
      },
      { leaseMs: 400, clock },
    );
    await released.promise;
    const count = sent.length;
    assert.ok(count > 0);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(sent.length, count);
  });
}
