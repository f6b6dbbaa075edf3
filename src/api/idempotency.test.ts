import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { newUserId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import type { IdempotencyClaim, IdempotencyState } from '#store/receipt.ts';
import type { ApiInstance } from './api.ts';
import { makeRepeatable } from './idempotency.ts';
import { receiptOf } from './receipt.ts';
import { StoredAnswers } from './stored-answers.ts';

/** The room of each user, of which one KiB comes back in half an hour. */
const ROOM_KIB = 48;
const LARGE = 'x'.repeat(10_000);

/** A route that stores its answer, over claims in memory and a clock that the test moves. */
function setUp() {
  const time = { now: 0 };
  const stored = new Map<string, string | undefined>();
  const nameOf = ({ userId, keyHash }: IdempotencyClaim) => `${userId} ${keyHash}`;
  const stateOf = (claim: IdempotencyClaim): IdempotencyState | undefined => {
    if (!stored.has(nameOf(claim))) return undefined;
    const sealed = stored.get(nameOf(claim));
    return sealed === undefined ? { state: 'pending' } : { state: 'answered', sealed };
  };
  const idempotency = {
    claim: async (claim: IdempotencyClaim): Promise<IdempotencyState> => {
      const known = stateOf(claim);
      if (known === undefined) stored.set(nameOf(claim), undefined);
      return known ?? { state: 'claimed' };
    },
    known: async (claim: IdempotencyClaim) => stateOf(claim),
    release: async (claim: IdempotencyClaim) => void stored.delete(nameOf(claim)),
    deleteOlder: async () => 0,
  };
  const api = fastify();
  const [ann, bob, admin] = [newUserId(), newUserId(), newUserId()];
  const users = { ann, bob, admin };
  const admins = new Set([admin]);
  api.addHook('onRequest', (request, _reply, done) => {
    const userId = users[request.headers.authorization!.slice('Bearer '.length) as keyof typeof users];
    const caller = { userId, keyId: userId, keyName: 'key', at: ms(time.now), isAdmin: admins.has(userId) };
    Object.assign(request, { caller });
    done();
  });
  const clock = { now: () => ms(time.now), monotonic: () => ms(time.now) };
  makeRepeatable(api as unknown as ApiInstance, {
    store: { idempotency },
    answers: new StoredAnswers(clock, ROOM_KIB),
  });
  api.post<{ Body: { size?: number } }>('/', async (request, reply) => {
    if (request.body.size === undefined) return await reply.code(409).send();
    const body = LARGE.slice(0, request.body.size);
    const { answer } = receiptOf(request, { action: 'stream.created', resourceId: 'x' }, { status: 201, body });
    if (answer !== undefined) stored.set(nameOf(answer.claim), answer.sealed);
    return await reply.code(201).send(body);
  });
  const post = async (user: keyof typeof users, key: string | undefined, size?: number) => {
    const headers = { authorization: `Bearer ${user}`, ...(key !== undefined && { 'idempotency-key': key }) };
    const answer = await api.inject({ method: 'POST', url: '/', headers, payload: size === undefined ? {} : { size } });
    const { statusCode, headers: sent, body } = answer;
    return { statusCode, isReplayed: sent['idempotency-replayed'] === 'true', retryAfter: sent['retry-after'], body };
  };
  /** Sends requests until one is refused, or too many were carried out. @returns how many were carried out */
  const fill = async (user: keyof typeof users, size: number) => {
    for (let count = 0; count < 2 * ROOM_KIB; count += 1) {
      const { statusCode, body } = await post(user, `${user} ${size} ${count}`, size);
      if (statusCode === 201) continue;
      assert.equal(JSON.parse(body).code, 'too_many_requests');
      return count;
    }
    return 2 * ROOM_KIB;
  };
  return { time, stored, post, fill, demote: () => admins.clear() };
}

for (const [what, size, atMost] of [
  ['size', LARGE.length, 4], // each takes 14 KiB as Base64url
  ['number', 1, ROOM_KIB],
] as const) {
  test(`the ${what} of the answers that are stored for a user is limited, without an effect on other users`, async () => {
    const { time, stored, post, fill } = setUp();
    assert.equal(await fill('ann', size), atMost);
    assert.equal((await post('bob', 'a', size)).statusCode, 201);
    assert.equal((await post('ann', undefined, size)).statusCode, 201, 'without the header, nothing is stored');
    const again = await post('ann', `ann ${size} 0`, size);
    assert.deepEqual([again.statusCode, again.isReplayed], [201, true], 'earlier answers are repeated');
    const before = stored.size;
    time.now += 30 * 60_000;
    if (what === 'number') assert.equal((await post('ann', 'later', size)).statusCode, 201, 'room comes back');
    else assert.equal((await post('ann', 'later', size)).statusCode, 429);
    assert.equal(stored.size, before + (what === 'number' ? 1 : 0));
    assert.equal(await fill('admin', size), 2 * ROOM_KIB);
  });
}

test('requests that store nothing take no room, and neither do repeats', async () => {
  const { post, fill } = setUp();
  for (let count = 0; count < ROOM_KIB; count += 1) {
    assert.equal((await post('ann', `refused ${count}`)).statusCode, 409);
    assert.equal((await post('ann', 'the same', 1)).isReplayed, count > 0);
  }
  assert.equal(await fill('ann', 1), ROOM_KIB - 1);
});

test('answers that were stored for an admin take no room after the admin has become an ordinary user', async () => {
  const { post, fill, demote } = setUp();
  assert.equal(await fill('admin', LARGE.length), 2 * ROOM_KIB);
  assert.equal((await post('admin', 'refused')).statusCode, 409);
  demote();
  assert.equal(await fill('admin', 1), ROOM_KIB);
});
