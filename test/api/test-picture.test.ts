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
