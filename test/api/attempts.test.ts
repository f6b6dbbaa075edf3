import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFUSED_ATTEMPTS, type RefusedAttempt } from '#domain/attempt.ts';
import { newStreamId, type UserId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { RecentAttempt } from '#live/recent-attempts.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

const streamId = newStreamId();

/** An attempt of a minute ago. */
function attempt(api: TestApi, reason: RefusedAttempt, change: Partial<RecentAttempt> = {}): RecentAttempt {
  return {
    reason,
    message: REFUSED_ATTEMPTS[reason],
    streamId: undefined,
    userId: undefined,
    protocol: 'rtmp',
    address: '203.0.113.7',
    encoder: 'OBS',
    count: 3,
    firstAt: ms(api.time.now - 70_000),
    at: ms(api.time.now - 60_000),
    ...change,
  };
}

async function list(api: TestApi, key: TestKey, remoteAddress = '198.51.100.1', query = '') {
  const response = await api.call('GET', `/attempt${query}`, { key, remoteAddress });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
}

test('a user sees the attempts that were meant for its streams, from any address, and admins see all of them', async (t) => {
  const api = await startApi(t);
  const [ann, bob, admin] = await Promise.all(['ann', 'bob', 'admin'].map((name) => api.makeKey(name)));
  api.attempts.recent = [
    attempt(api, 'key_replaced', { streamId, userId: ann!.userId }),
    attempt(api, 'key_unknown', { encoder: undefined }),
  ];
  assert.deepEqual(await list(api, ann!), [
    {
      reason: 'key_replaced',
      message: REFUSED_ATTEMPTS.key_replaced,
      streamId,
      protocol: 'rtmp',
      address: '203.0.113.7',
      isFromHere: false,
      encoder: 'OBS',
      count: 3,
      firstAt: api.time.now - 70_000,
      lastAt: api.time.now - 60_000,
    },
  ]);
  assert.deepEqual(await list(api, bob!), []);
  assert.deepEqual(await list(api, admin!), []);
  assert.equal((await list(api, admin!, undefined, '?all=1')).length, 2);
  const refused = await api.call('GET', '/attempt?all=1', { key: bob! });
  assert.equal(refused.statusCode, 403);
  assert.equal((await api.call('GET', '/attempt')).statusCode, 401);
});

test('an attempt with an unknown key is seen from its own address for two minutes', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  api.attempts.recent = [
    attempt(api, 'key_unknown'),
    attempt(api, 'key_unknown', { at: ms(api.time.now - 130_000) }),
    attempt(api, 'too_many_attempts', { address: '2001:db8:1:2::a' }),
  ];
  const seen = async (address: string) => (await list(api, ann, address)).map(({ reason }: RecentAttempt) => reason);
  assert.deepEqual(await seen('203.0.113.7'), ['key_unknown']);
  assert.deepEqual(await seen('::ffff:203.0.113.7'), ['key_unknown']);
  assert.deepEqual(await seen('203.0.113.8'), []);
  assert.deepEqual(await seen('2001:db8:1:2::b'), ['too_many_attempts']);
  const [own] = await list(api, ann, '203.0.113.7');
  assert.equal(own.isFromHere, true);
});

test("an attempt from one's own address that was meant for somebody else's stream reveals nothing about that stream", async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const userId = 'somebody else' as UserId;
  api.attempts.recent = [attempt(api, 'key_is_playback_id', { streamId, userId, address: '127.0.0.1' })];
  const [seen] = await list(api, ann, '::1');
  assert.deepEqual(
    [seen.reason, seen.message, seen.streamId],
    ['key_unknown', REFUSED_ATTEMPTS.key_unknown, undefined],
  );
});
