import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { someUser } from '#test/support/sample-records.ts';
import { openStore } from './open-store.ts';

it('measures how long the store takes to answer, including failed calls', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-store-'));
  const metrics = createMetrics();
  const store = await openStore({ dataDir, exclusive: true, logger: silentLogger, metrics });
  try {
    await store.users.ensure(someUser());
  } finally {
    await store[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true });
  }
  await assert.rejects(store.users.byName('x'));
  const { values } = await metrics.storeSeconds.get();
  const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'));
  assert.deepEqual(Object.fromEntries(counts.map(({ labels, value }) => [labels.kind, value])), { read: 3, write: 1 });
});
