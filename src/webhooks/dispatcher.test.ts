import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#lib/clock.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { Dispatcher } from './dispatcher.ts';

test('a dispatcher that has closed leaves no timer that would keep its process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const store = {
    listen: () => ({ [Symbol.dispose]: () => {} }),
    webhooks: { nextDueInMs: async () => undefined },
  } as unknown as Store;
  const metrics = createMetrics();
  const before = timers();
  const sender = { post: () => assert.fail('there is no event') };
  const presentStream = () => assert.fail('there is no event');
  const dispatcher = new Dispatcher({
    store,
    sender,
    presentStream,
    clock: systemClock,
    logger: silentLogger,
    metrics,
  });
  await dispatcher[Symbol.asyncDispose]();
  assert.equal(timers(), before);
});
