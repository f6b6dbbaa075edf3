import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Registry } from 'prom-client';
import { Counts } from './counts.ts';

test('the text of the metric is the same as that of a counter of prom-client', async () => {
  const texts = [Counts, Counter].map((Kind) => {
    const registry = new Registry();
    const counter = new Kind({
      name: 'test_total',
      help: 'Answers',
      labelNames: ['route', 'status'],
      registers: [registry],
    });
    for (const [route, status] of [
      ['/a "quoted"', '200'],
      ['/b', '404'],
      ['/a "quoted"', '200'],
    ] as const) {
      counter.labels(route, status).inc();
    }
    return registry.metrics();
  });
  const [ours, theirs] = await Promise.all(texts);
  assert.match(ours!, /status="200"\} 2$/m);
  assert.equal(ours, theirs);
});
