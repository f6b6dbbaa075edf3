import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WebhookId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { silentLogger } from '#telemetry/logger.ts';
import type { Deliverer } from './deliverer.ts';
import { Slots } from './slots.ts';
import { WebhookQueue } from './webhook-queue.ts';

test('a delivery whose result is stored while due deliveries are read is not sent again', async () => {
  const stored = Promise.withResolvers<void>();
  const reads: Promise<readonly object[]>[] = [
    Promise.resolve([{ event: { sequence: 1 } }]),
    // Read before the result was stored, answered afterwards.
    stored.promise.then(() => [{ event: { sequence: 1 } }]),
  ];
  const sent: number[] = [];
  const answered = Promise.withResolvers<void>();
  const webhooks = {
    get: async () => ({ userId: 'user', disabled: undefined }),
    due: () => {
      if (reads.length === 1) answered.resolve();
      return reads.shift() ?? Promise.resolve([]);
    },
    record: async () => void setImmediate(stored.resolve),
  };
  const deliverer = {
    withStreams: async (due: readonly object[]) => due,
    attempt: async (_webhook: unknown, { event: { sequence } }: { event: { sequence: number } }) => {
      sent.push(sequence);
      await answered.promise;
      return { outcome: { sequence, log: { statusCode: 200 } }, next: { type: 'delivered' } };
    },
  } as unknown as Deliverer;
  const { signal } = new AbortController();
  const queue = new WebhookQueue('webhook' as WebhookId, {
    store: { webhooks } as never,
    deliverer,
    slots: new Slots({ total: 10, perUser: 10 }),
    clock: systemClock,
    logger: silentLogger,
    closing: signal,
    signal,
  });
  await queue.run();
  assert.deepEqual(sent, [1]);
});
