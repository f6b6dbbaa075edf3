import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { Durations } from './durations.ts';

test('the text is that of a histogram of prom-client', async () => {
  const texts = [Durations, Histogram].map((Kind) => {
    const registry = new Registry();
    const options = {
      name: 'test_seconds',
      help: 'Time',
      labelNames: ['route', 'status'],
      buckets: [0.001, 0.02, 5],
    } as const;
    const histogram = new Kind({ ...options, buckets: [...options.buckets], registers: [registry] });
    for (const [route, status, seconds] of [
      ['/a "quoted"', '200', 0.0004],
      ['/a "quoted"', '200', 0.001],
      ['/a "quoted"', '200', 0.003],
      ['/b', '404', 7],
      ['/a "quoted"', '404', 0.5],
    ] as const) {
      histogram.labels(route, status).observe(seconds);
    }
    return registry.metrics();
  });
  const [ours, theirs] = await Promise.all(texts);
  assert.match(ours!, /le="0\.02"/);
  assert.equal(ours, theirs);
});
