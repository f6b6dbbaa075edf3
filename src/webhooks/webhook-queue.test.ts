import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { WebhookId } from '#domain/ids.ts';
import type { Webhook } from '#domain/webhook.ts';
import { systemClock } from '#lib/clock.ts';
import type { DeliveryOutcome } from '#store/webhook-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import type { Deliverer } from './deliverer.ts';
import { Slots } from './slots.ts';
import { WebhookQueue } from './webhook-queue.ts';

interface Due {
  readonly event: { readonly sequence: number };
}

const WEBHOOK = { userId: 'user', disabled: undefined };
const due = (sequence: number): Due => ({ event: { sequence } });

/**
 * A queue.
 * @param send makes an attempt, whose answer has the status 200
 * @param next what follows from each attempt
 * @param leasedUntil a monotonic time
 */
function queueOn(
  webhooks: object,
  send: (sequence: number, webhook: Webhook) => Promise<void> | void,
  next: 'delivered' | 'gone' = 'delivered',
  leasedUntil = Number.POSITIVE_INFINITY,
): WebhookQueue {
  const deliverer = {
    withStreams: async (found: readonly object[]) => found,
    attempt: async (webhook: Webhook, { event: { sequence } }: Due) => {
      await send(sequence, webhook);
      return { outcome: { sequence, log: { statusCode: 200 } }, next: { type: next } };
    },
  } as unknown as Deliverer;
  const { signal } = new AbortController();
  return new WebhookQueue('webhook' as WebhookId, {
    store: { webhooks: { get: async () => WEBHOOK, ...webhooks } } as never,
    deliverer,
    slots: new Slots({ total: 10, perUser: 10 }),
    steps: new Slots({ total: 1, perUser: 1 }),
    clock: systemClock,
    logger: silentLogger,
    closing: signal,
    signal,
    leasedUntil,
  });
}

test('a delivery whose result is stored while due deliveries are read is not sent again', async () => {
  const stored = Promise.withResolvers<void>();
  const reads: Promise<readonly Due[]>[] = [
    Promise.resolve([due(1)]),
    // Read before the result was stored, answered afterwards.
    stored.promise.then(() => [due(1)]),
  ];
  const sent: number[] = [];
  const answered = Promise.withResolvers<void>();
  const webhooks = {
    due: () => {
      if (reads.length === 1) answered.resolve();
      return reads.shift() ?? Promise.resolve([]);
    },
    record: async () => void setImmediate(stored.resolve),
  };
  const queue = queueOn(webhooks, (sequence) => {
    sent.push(sequence);
    return answered.promise;
  });
  await queue.run();
  assert.deepEqual(sent, [1]);
});

test('a delivery whose entry in the log is refused is sent once, and its result is stored without the entry', async () => {
  const pending = new Set([1, 2]);
  const sent: number[] = [];
  const outages: Error[] = [new MillraceError('store_unavailable', 'It is away.'), new TypeError('It is broken.')];
  const webhooks = {
    due: async () => Array.from(pending, due),
    record: async () => Promise.reject(new TypeError('The entry cannot be kept.')),
    settle: async (_id: WebhookId, outcomes: readonly DeliveryOutcome[]) => {
      const outage = outages.shift();
      if (outage !== undefined) throw outage;
      for (const { sequence } of outcomes) pending.delete(sequence);
    },
  };
  await queueOn(webhooks, (sequence) => void sent.push(sequence)).run();
  assert.deepEqual(sent, [1, 2]);
  assert.equal(pending.size, 0);
});

test('an attempt that fails by an internal error is repeated after a pause', async () => {
  const pending = new Set([1]);
  let attempts = 0;
  const webhooks = {
    due: async () => Array.from(pending, due),
    record: async (_id: WebhookId, outcomes: readonly DeliveryOutcome[]) => {
      for (const { sequence } of outcomes) pending.delete(sequence);
    },
  };
  const began = performance.now();
  await queueOn(webhooks, () => {
    attempts += 1;
    if (attempts < 3) throw new Error('A defect.');
  }).run();
  assert.equal(attempts, 3);
  assert.ok(performance.now() - began >= 900, 'two pauses passed');
  assert.equal(pending.size, 0);
});

test('a webhook that was changed or disabled gets what was loaded before only as it was changed, or not at all', async () => {
  const pending = new Set([1, 2, 3, 4, 5, 6, 7, 8]);
  const sent: string[] = [];
  let webhook: object = { ...WEBHOOK, url: 'old' };
  const answers = Array.from(pending, () => Promise.withResolvers<void>());
  const webhooks = {
    get: async () => webhook,
    due: async () => Array.from(pending, due),
    record: async (_id: WebhookId, outcomes: readonly DeliveryOutcome[]) => {
      for (const { sequence } of outcomes) pending.delete(sequence);
    },
  };
  const queue = queueOn(webhooks, (sequence, { url }) => {
    sent.push(`${sequence} ${url}`);
    if (sequence === 4) {
      webhook = { ...WEBHOOK, url: 'new' };
      answers[0]!.resolve();
    }
    if (sequence === 5) {
      webhook = { ...WEBHOOK, disabled: { at: 1, reason: 'user' } };
      for (const { resolve } of answers) resolve();
    }
    return answers[sequence - 1]!.promise;
  });
  await queue.run();
  assert.deepEqual(sent, ['1 old', '2 old', '3 old', '4 old', '5 new']);
});

test('what is to be sent again becomes due in steps, before more is sent', async () => {
  let webhook: object = { ...WEBHOOK, resendAfter: 4 };
  const pending = new Set([5]);
  const did: string[] = [];
  const webhooks = {
    get: async () => webhook,
    due: async () => Array.from(pending, due),
    record: async (_id: WebhookId, outcomes: readonly DeliveryOutcome[]) => {
      for (const { sequence } of outcomes) pending.delete(sequence);
    },
    resendSome: async ({ resendAfter }: Webhook, limit: number) => {
      did.push(`step after ${resendAfter} of ${limit}`);
      webhook = { ...WEBHOOK, resendAfter: resendAfter === 4 ? 504 : undefined };
    },
  };
  await queueOn(webhooks, (sequence) => void did.push(`sent ${sequence}`)).run();
  assert.deepEqual(did, ['step after 4 of 500', 'step after 504 of 500', 'sent 5']);
});

test('what waits for a webhook that the server disabled is given up in steps, and what its user disabled is kept', async () => {
  for (const [reason, expected] of [
    ['too_many_deliveries', 3],
    ['user', 0],
  ] as const) {
    let steps = 0;
    const webhooks = {
      get: async () => ({ ...WEBHOOK, disabled: { at: 1, reason } }),
      due: () => assert.fail('nothing is read'),
      giveUpSome: async (_id: WebhookId, limit: number) => {
        steps += 1;
        return steps < 3 ? limit : 7;
      },
    };
    await queueOn(webhooks, () => assert.fail('nothing is sent')).run();
    assert.equal(steps, expected, reason);
  }
});

test('a 410 disables the webhook only while it has the URL that gave this answer', async () => {
  let webhook = { ...WEBHOOK, url: 'old' };
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const disabled: string[] = [];
  const webhooks = {
    get: async () => webhook,
    due: async () => [due(1), due(2)],
    record: async () => answers[1]!.resolve(),
    disable: async ({ url }: Webhook) => void disabled.push(url),
    giveUpSome: async () => 0,
  };
  const send = (sequence: number) => {
    if (sequence === 2) {
      webhook = { ...webhook, url: 'new' };
      answers[0]!.resolve();
    }
    return answers[sequence - 1]!.promise;
  };
  await queueOn(webhooks, send, 'gone').run();
  assert.deepEqual(disabled, ['old']);
});

test('a queue begins no new attempt once its lease is over, and goes on if the lease is renewed before', async () => {
  const pending = new Set([1, 2, 3, 4]);
  const sent: number[] = [];
  const webhooks = {
    due: async () => Array.from(pending, due),
    record: async (_id: WebhookId, outcomes: readonly DeliveryOutcome[]) => {
      for (const { sequence } of outcomes) pending.delete(sequence);
    },
  };
  const send = (sequence: number) => {
    sent.push(sequence);
    if (sequence === 2) queue.renewed(0);
  };
  const queue = queueOn(webhooks, send, 'delivered', 0);
  await queue.run();
  assert.equal(sent.length, 0);
  queue.renewed(Number.POSITIVE_INFINITY);
  await queue.run();
  assert.deepEqual(sent, [1, 2]);
  assert.deepEqual([...pending], [3, 4]);
});
