import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newStreamId } from '#domain/ids.ts';
import { newApiKeySecret } from '#domain/secret.ts';
import { startApi } from './server.ts';

test('a test picture is started and stopped by those who may publish to the stream', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const mayNotPublish = [{ resources: ['stream/:id/test-picture'], methods: ['post', 'delete'] as const }];
  const reader = await api.makeKey('ann', 'reader', newApiKeySecret(), mayNotPublish);
  const { id } = (await api.call('POST', '/stream', { key: ann, body: { name: 'x' } })).json();
  const path = `/stream/${id}/test-picture`;
  const started = await api.call('POST', path, { key: ann });
  assert.deepEqual([started.statusCode, started.json()], [200, { until: api.time.now + 60_000 }]);
  assert.equal((await api.call('POST', path, { key: bob })).statusCode, 404);
  assert.equal((await api.call('POST', `/stream/${newStreamId()}/test-picture`, { key: ann })).statusCode, 404);
  const refused = await api.call('POST', path, { key: reader });
  assert.deepEqual([refused.statusCode, refused.json().code], [403, 'insufficient_scope']);
  assert.equal((await api.call('DELETE', path, { key: reader })).statusCode, 204);
  assert.equal((await api.call('DELETE', path, { key: bob })).statusCode, 404);
  assert.deepEqual(api.pictures, [
    ['start', id],
    ['stop', id],
  ]);
});

test('an Idempotency-Key has no effect, because a repeat makes the picture last longer', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const headers = { 'idempotency-key': 'once' };
  for (const attempt of [1, 2]) {
    const started = await api.call('POST', `/stream/${id}/test-picture`, { key, headers });
    assert.deepEqual(started.json(), { until: api.time.now + 60_000 }, `attempt ${attempt}`);
    api.time.now += 5000;
  }
  assert.equal(api.pictures.length, 2);
  const { paths } = (await api.call('GET', '/openapi.json')).json();
  for (const method of ['post', 'delete']) {
    const names = paths['/stream/{id}/test-picture'][method].parameters.map(({ name }: { name: string }) => name);
    assert.ok(names.includes('id') && !names.includes('idempotency-key'), names.join());
  }
});
