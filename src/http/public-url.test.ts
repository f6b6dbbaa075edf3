import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { createHttp } from './http.ts';
import { publicUrlOf } from './public-url.ts';

function serverOf(t: TestContext, settings: { publicUrl?: string; trustedProxies?: readonly string[] } = {}) {
  const whole = { maxConnections: 10, trustedProxies: [], publicUrl: undefined, ...settings };
  const http = createHttp({ settings: whole, logger: silentLogger, metrics: createMetrics() });
  const publicUrl = publicUrlOf(whole);
  http.get('/url', (request) => ({ url: publicUrl(request) }));
  t.after(() => http.close());
  return async (headers: Record<string, string>) => {
    const response = await http.inject({ url: '/url', headers, remoteAddress: '10.0.0.1' });
    return response.statusCode === 200 ? response.json().url : response.json().code;
  };
}

const forwarded = { host: 'inner:8080', 'x-forwarded-host': 'live.example.com', 'x-forwarded-proto': 'https' };

test('the public URL is what the request was sent to', async (t) => {
  const urlFor = serverOf(t);
  assert.equal(await urlFor({ host: 'live.example.com:8080' }), 'http://live.example.com:8080');
  assert.equal(await urlFor({ host: '[2001:db8::1]:8080' }), 'http://[2001:db8::1]:8080');
  assert.equal(await urlFor(forwarded), 'http://inner:8080', 'the headers of an untrusted proxy are ignored');
});

test('the headers of a trusted proxy name what the request was sent to', async (t) => {
  const urlFor = serverOf(t, { trustedProxies: ['10.0.0.0/8'] });
  assert.equal(await urlFor(forwarded), 'https://live.example.com');
  assert.equal(await urlFor({ ...forwarded, 'x-forwarded-proto': 'javascript' }), 'http://live.example.com');
});

test('the setting takes precedence over the request', async (t) => {
  const urlFor = serverOf(t, { publicUrl: 'https://live.example.com' });
  assert.equal(await urlFor({ host: 'elsewhere' }), 'https://live.example.com');
});

test('a host that would break out of a URL or a header is refused', async (t) => {
  const urlFor = serverOf(t);
  for (const host of ['a/b', 'a>; rel="x', 'a b', 'user@a', 'a:b', 'a?b']) {
    assert.equal(await urlFor({ host }), 'invalid_request', host);
  }
});
