import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '#telemetry/metrics.ts';
import { listenMetrics } from './metrics-listener.ts';

test('only metrics are served, in the Prometheus format', async () => {
  const metrics = createMetrics();
  metrics.ingestBytes.inc({ protocol: 'rtmp' }, 3);
  await using listener = await listenMetrics({ settings: { metricsHost: '127.0.0.1', metricsPort: 0 }, metrics });
  const base = `http://127.0.0.1:${listener.address.port}`;
  const response = await fetch(`${base}/metrics`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(await response.text(), /^millrace_ingest_bytes_total\{protocol="rtmp"\} 3$/m);
  assert.equal((await fetch(`${base}/`)).status, 404);
});

test('a port in use is a system error', async () => {
  const metrics = createMetrics();
  await using listener = await listenMetrics({ settings: { metricsHost: '127.0.0.1', metricsPort: 0 }, metrics });
  const settings = { metricsHost: '127.0.0.1', metricsPort: listener.address.port };
  await assert.rejects(listenMetrics({ settings, metrics }), { code: 'EADDRINUSE' });
});
