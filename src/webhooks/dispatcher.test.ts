import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '#domain/events.ts';
import { newEventId, newUserId, newWebhookId, type UserId } from '#domain/ids.ts';
import { newSharedSecret, type Webhook, type WebhookLog } from '#domain/webhook.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Sender, Sent } from './sender.ts';

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

/** A dispatcher without deliveries. @param post sends what is sent again */
function setUp(post: Sender['post'] = () => assert.fail('there is no event')): Dispatcher {
  const store = {
    listen: () => ({ [Symbol.dispose]: () => {} }),
    streams: { getMany: async () => [] },
    webhooks: { nextDueInMs: async () => undefined, event: async () => someEvent() },
  } as unknown as Store;
  return new Dispatcher({
    store,
    sender: { post },
    presentStream: () => assert.fail('there is no stream'),
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
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
  const resend = (userId: UserId) => {
    const webhook = { id: newWebhookId(), userId, url: 'https://example.com/', sharedSecret: newSharedSecret() };
    return dispatcher.resending.resend(webhook as Webhook, { eventId: newEventId(), attempt: 1 } as WebhookLog);
  };
  const [ann, bob] = [newUserId(), newUserId()];
  const sent = Promise.allSettled([...Array.from({ length: 22 }, () => resend(ann)), resend(bob)]);
  answer.resolve({ statusCode: 204, retryAfter: undefined, body: Buffer.alloc(0), durationMs: 1, error: undefined });
  const codes = (await sent).map((each) => (each.status === 'rejected' ? each.reason.code : each.value.log.success));
  assert.deepEqual(codes, [...Array(20).fill(true), 'too_many_requests', 'too_many_requests', true]);
  assert.ok((await resend(ann)).log.success);
});
