import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OWNER_TOKEN_LIFE_MS, OwnerTokens } from '#domain/owner-token.ts';
import { startApi } from './server.ts';

test('the owner of a stream, and an admin, get a token that names their key and ends after 12 hours; others get none', async (t) => {
  const api = await startApi(t);
  const [ana, bob, admin] = [await api.makeKey('ana'), await api.makeKey('bob'), await api.makeKey('admin')];
  const { id, playbackId } = (await api.call('POST', '/stream', { key: ana, body: { name: 'x' } })).json();
  const tokens = new OwnerTokens(await api.store.nodes.clusterSecret());
  for (const [key, query] of [
    [ana, ''],
    [admin, `?userId=${ana.userId}`],
  ] as const) {
    const answer = await api.call('GET', `/stream/${id}/playback-token${query}`, { key });
    assert.equal(answer.statusCode, 200, answer.body);
    const { token, expiresAt } = answer.json();
    assert.equal(expiresAt, api.time.now + OWNER_TOKEN_LIFE_MS);
    assert.deepEqual(tokens.read(playbackId, token), { credential: { keyId: key.id }, expiresAt });
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
  assert.equal((await api.call('GET', `/stream/${id}/playback-token`, { key: bob })).statusCode, 404);
  assert.equal((await api.call('GET', `/asset/${id}/playback-token`, { key: ana })).statusCode, 404);
});
