import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '#domain/events.ts';
import { newEventId } from '#domain/ids.ts';
import { LOGGED_REQUEST_BYTES } from '#domain/webhook.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { bindable } from '#store/engines/bindable.ts';
import { rowOfLog } from '#store/queries/webhook-log.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { someStream, someUser, someWebhook } from '#test/support/sample-records.ts';
import { Deliverer } from './deliverer.ts';
import { RETRY_LIMITS } from './retry-schedule.ts';
import type { Sent } from './sender.ts';

const sent: Sent = {
  statusCode: 200,
  retryAfter: undefined,
  body: Buffer.alloc(0),
  isComplete: true,
  durationMs: 1,
  error: undefined,
};

test('the log keeps the first characters of a body that is cut inside an emoji', async () => {
  const user = someUser();
  const stream = someStream(user.id);
  const webhook = someWebhook(user.id);
  const bodies: string[] = [];
  const deliverer = new Deliverer({
    store: { streams: {}, webhooks: {} } as never,
    sender: {
      post: async (_url, { body }) => {
        bodies.push(body);
        return sent;
      },
    },
    presentStream: () => assert.fail('the stream is given'),
    clock: systemClock,
    metrics: createMetrics(),
    limits: RETRY_LIMITS,
  });
  const event: ServiceEvent = {
    id: newEventId(),
    sequence: 1,
    type: 'stream.created',
    at: ms(1),
    userId: user.id,
    streamId: stream.id,
    sessionId: undefined,
    payload: {},
  } as never;
  // Of four names whose lengths differ by one byte, the cut falls inside an emoji of three.
  for (const first of ['', 'x', 'xx', 'xxx']) {
    const name = first + '😀'.repeat(LOGGED_REQUEST_BYTES);
    const due = { event, attempts: 0, ageMs: 0, isRepeated: false, stream: { name } };
    const { outcome } = await deliverer.attempt(webhook, due, new AbortController().signal);
    for (const value of Object.values(rowOfLog(outcome.log))) bindable(value);
    const { requestBody } = outcome.log;
    assert.ok(bodies.at(-1)?.startsWith(requestBody));
    const missing = LOGGED_REQUEST_BYTES - Buffer.byteLength(requestBody);
    assert.ok(missing >= 0 && missing < 4, `${missing} bytes`);
  }
});

test('a delivery that was requested again does not count as one that was delayed since its event', async () => {
  const metrics = createMetrics();
  const webhook = someWebhook(someUser().id);
  const deliverer = new Deliverer({
    store: { streams: {}, webhooks: {} } as never,
    sender: { post: async () => sent },
    presentStream: () => assert.fail('there is no stream'),
    clock: systemClock,
    metrics,
    limits: RETRY_LIMITS,
  });
  const event: ServiceEvent = {
    id: newEventId(),
    sequence: 1,
    type: 'webhook.test',
    at: ms(Date.now() - 3_600_000),
    userId: webhook.userId,
    streamId: undefined,
    sessionId: undefined,
    payload: { webhookId: webhook.id },
  };
  const delays = async (): Promise<readonly number[]> => {
    const { values } = await metrics.webhookDelay.get();
    const shown = (end: string) => values.find(({ metricName }) => metricName?.endsWith(end))?.value ?? 0;
    return [shown('_count'), Math.round(shown('_sum') / 3600)];
  };
  const due = { event, attempts: 0, ageMs: 10, stream: undefined };
  await deliverer.attempt(webhook, { ...due, isRepeated: true }, new AbortController().signal);
  assert.deepEqual(await delays(), [0, 0]);
  await deliverer.attempt(webhook, { ...due, isRepeated: false }, new AbortController().signal);
  assert.deepEqual(await delays(), [1, 1]);
});

test('what a receiver answers with 410 waits until its webhook is disabled, or has another URL', async () => {
  const webhook = someWebhook(someUser().id);
  const deliverer = new Deliverer({
    store: { streams: {}, webhooks: {} } as never,
    sender: { post: async () => ({ ...sent, statusCode: 410 }) },
    presentStream: () => assert.fail('there is no stream'),
    clock: systemClock,
    metrics: createMetrics(),
    limits: RETRY_LIMITS,
  });
  const event: ServiceEvent = {
    id: newEventId(),
    sequence: 1,
    type: 'webhook.test',
    at: ms(1),
    userId: webhook.userId,
    streamId: undefined,
    sessionId: undefined,
    payload: { webhookId: webhook.id },
  };
  const due = { event, attempts: 3, ageMs: 10, isRepeated: false, stream: undefined };
  const { outcome, next } = await deliverer.attempt(webhook, due, new AbortController().signal);
  assert.deepEqual([outcome.result, next], [{ type: 'retry', delayMs: 5000 }, { type: 'gone' }]);
});
