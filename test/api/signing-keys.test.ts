import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { startApi, type TestApi, type TestKey } from './server.ts';

const PATH = '/access-control/signing-key';

async function create(api: TestApi, key: TestKey, body?: object) {
  const response = await api.call('POST', PATH, { key, ...(body && { body }) });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
}

async function createWebhook(api: TestApi, key: TestKey): Promise<string> {
  const body = { name: 'gate', url: 'https://example.com/gate', events: ['stream.started'] };
  const response = await api.call('POST', '/webhook', { key, body });
  assert.equal(response.statusCode, 200, response.body);
  return response.json().id;
}

test('the private key is shown once, matches the public key, and is not stored', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const { privateKey, ...shown } = await create(api, ann, { name: 'website' });
  assert.deepEqual(Object.keys(shown), ['id', 'name', 'userId', 'createdAt', 'publicKey', 'disabled']);
  assert.deepEqual([shown.name, shown.userId, shown.disabled], ['website', ann.userId, false]);
  const publicPem = Buffer.from(shown.publicKey, 'base64').toString();
  const privatePem = Buffer.from(privateKey, 'base64').toString();
  assert.match(privatePem, /^-----BEGIN PRIVATE KEY-----/);
  assert.equal(createPublicKey(createPrivateKey(privatePem)).export({ type: 'spki', format: 'pem' }), publicPem);
  for (const path of [`${PATH}/${shown.id}`, PATH]) {
    const { body } = await api.call('GET', path, { key: ann });
    assert.deepEqual([JSON.parse(body)].flat(), [shown]);
  }
  assert.ok(!JSON.stringify(await api.store.signingKeys.get(shown.id, 'everyone')).includes(privateKey));
  assert.ok(!api.lines.join().includes(privateKey));
});

test('a key is changed, disabled and deleted by its user, and hidden from others', async (t) => {
  const api = await startApi(t);
  const [ann, bob, admin] = [await api.makeKey('ann'), await api.makeKey('bob'), await api.makeKey('admin')];
  const { id } = await create(api, ann);
  const path = `${PATH}/${id}`;
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    for (const key of [bob, admin]) assert.equal((await api.call(method, path, { key })).statusCode, 404, method);
  }
  for (const body of [{}, { disabled: true }]) {
    assert.equal((await api.call('PATCH', path, { key: ann, body })).statusCode, 204);
  }
  const entries = (await api.call('GET', `/audit?resourceId=${id}`, { key: admin })).json();
  assert.deepEqual(
    entries.map(({ action }: { action: string }) => action),
    ['signing_key.updated', 'signing_key.created'],
    'an empty change leaves no entry',
  );
  const seen = (await api.call('GET', `${path}?userId=${ann.userId}`, { key: admin })).json();
  assert.equal(seen.disabled, true, 'an admin may say whose key is meant');
  assert.equal((await api.call('DELETE', path, { key: ann })).statusCode, 204);
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    assert.equal((await api.call(method, path, { key: ann })).statusCode, 404, method);
  }
});

test('unknown fields of a signing key are refused', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const { id } = await create(api, key);
  for (const body of [{ publicKey: 'x' }, { name: 7 }, { disabled: true }]) {
    assert.equal((await api.call('POST', PATH, { key, body })).statusCode, 422);
  }
  for (const body of [{ publicKey: 'x' }, { disabled: 'yes' }]) {
    assert.equal((await api.call('PATCH', `${PATH}/${id}`, { key, body })).statusCode, 422);
  }
});

test('a user may have a limited number, and another after one is deleted', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const made = [];
  for (let count = 0; count < 10; count += 1) made.push(await create(api, key));
  const refused = await api.call('POST', PATH, { key });
  assert.deepEqual([refused.statusCode, refused.json().code], [403, 'quota_exceeded']);
  await api.call('DELETE', `${PATH}/${made[0].id}`, { key });
  await create(api, key);
});

test('a policy may name only a webhook of the owner of the stream', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const webhookId = await createWebhook(api, key);
  const ofOther = await createWebhook(api, await api.makeKey('bob'));
  const policy = (webhookId: string) => ({ playbackPolicy: { type: 'webhook', webhookId, refreshInterval: 60 } });
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x', ...policy(webhookId) } })).json();
  for (const [method, path, body] of [
    ['POST', '/stream', { name: 'x', ...policy(ofOther) }],
    ['PATCH', `/stream/${id}`, policy('another')],
  ] as const) {
    const refused = await api.call(method, path, { key, body });
    assert.deepEqual([refused.statusCode, refused.json().code], [400, 'invalid_request']);
    assert.match(refused.json().errors[0], /playbackPolicy\.webhookId names no webhook of yours/);
  }
  assert.equal((await api.call('PATCH', `/stream/${id}`, { key, body: policy(webhookId) })).statusCode, 204);
});

test('a policy is shown to its owner, and to others only its type', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const playbackPolicy = {
    type: 'webhook',
    webhookId: await createWebhook(api, key),
    webhookContext: { plan: 'gold' },
  };
  const stream = (await api.call('POST', '/stream', { key, body: { name: 'x', playbackPolicy } })).json();
  assert.deepEqual(stream.playbackPolicy, playbackPolicy);
  const { meta } = (await api.call('GET', `/playback/${stream.playbackId}`)).json();
  assert.deepEqual(meta.playbackPolicy, { type: 'webhook' });
});
