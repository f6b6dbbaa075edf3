/**
 * The part of the contract suite about changes that users request, with their receipts.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newApiKeyId, newStreamId, newUserId, type StreamId } from '#domain/ids.ts';
import type { QuotaChange } from '#domain/quotas.ts';
import { newStreamKey } from '#domain/secret.ts';
import type { ApiKey } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import type { IdempotencyClaim, Receipt } from '#store/receipt.ts';
import type { StreamChange } from '#store/store.ts';
import {
  someAudit,
  someKey,
  someNode,
  someReceipt,
  someSession,
  someStream,
  someUser,
} from '#test/support/sample-records.ts';
import { describeOn, type Fixture, isMillraceError, type OpenStore } from './suite.contract.ts';

/** Declares this part of the suite. */
export function changesContract(name: string, open: OpenStore): void {
  describeOn(`${name}, changing streams`, open, (fixture) => streamChanges(fixture));
  describeOn(`${name}, knowing former stream keys`, open, (fixture) => formerKeys(fixture));
  describeOn(`${name}, changing users and keys`, open, (fixture) => userChanges(fixture));
  describeOn(`${name}, remembering requests`, open, (fixture) => repeats(fixture));
  describeOn(`${name}, as an audit log`, open, (fixture) => auditLog(fixture));
}

function streamChanges(fixture: Fixture): void {
  const create = async (change = {}) => {
    const stream = someStream(fixture.user.id, change);
    await fixture.store.streams.create(stream, someReceipt());
    return stream;
  };
  /** Whether the entry of a receipt is in the log. */
  const isLogged = async ({ audit }: Receipt) => {
    const { rows } = await fixture.store.audit.list({ resourceId: audit.resourceId }, { limit: 10 });
    return rows.some(({ id }) => id === audit.id);
  };

  it('tells which of many streams are suspended, without deleted ones and those that are not asked for', async () => {
    const { store, user } = fixture;
    const streams: Awaited<ReturnType<typeof create>>[] = [];
    for (let count = 0; count < 40; count += 1) streams.push(await create({ suspended: count % 2 === 0 }));
    const [deleted, , ...asked] = streams;
    await store.streams.delete([deleted!.id], user.id, [someReceipt()]);
    const found = await store.streams.suspendedAmong([...asked, ...asked, deleted!].map(({ id }) => id));
    assert.deepEqual(found, new Set(asked.filter(({ suspended }) => suspended).map(({ id }) => id)));
    assert.deepEqual(await store.streams.suspendedAmong([]), new Set());
  });

  it('changes the given fields, empties those that are undefined, and leaves the others', async () => {
    const { store, user } = fixture;
    const stream = await create({ creatorId: 'me', userTags: { b: ['1', 2], a: 'x' } });
    const steps: StreamChange[] = [
      { name: 'new', suspended: true, record: true },
      { profiles: [], userTags: { z: 1 }, lastTerminatedAt: ms(7) },
      { creatorId: undefined, userTags: undefined },
      {},
    ];
    let expected = stream;
    for (const change of steps) {
      assert.equal(await store.streams.change(stream.id, user.id, change, someReceipt()), true);
      expected = { ...expected, ...change };
      const { streamKey: _, ...found } = (await store.streams.get(stream.id, user.id))!;
      const { streamKey: __, ...wanted } = expected;
      assert.deepEqual(found, wanted);
    }
  });

  it('finds a stream by its new key at once, and no longer by the old one', async () => {
    const { store, user } = fixture;
    const stream = await create();
    const streamKey = newStreamKey();
    await store.streams.change(stream.id, user.id, { streamKey }, someReceipt());
    assert.equal((await store.streams.byStreamKey(streamKey))?.id, stream.id);
    assert.equal(await store.streams.byStreamKey(stream.streamKey), undefined);
  });

  it('changes and logs nothing for a stream that is unknown, deleted or of another user', async () => {
    const { store, user } = fixture;
    const [stream, deleted] = [await create(), await create()];
    await store.streams.delete([deleted.id], user.id, [someReceipt()]);
    for (const [id, scope] of [
      [stream.id, newUserId()],
      [deleted.id, user.id],
      [deleted.id, 'everyone'],
      [newStreamId(), user.id],
    ] as const) {
      const receipt = someReceipt({ resourceId: id });
      assert.equal(await store.streams.change(id, scope, { name: 'taken over' }, receipt), false);
      assert.equal(await store.streams.change(id, scope, { name: 'taken over' }, receipt, 'idle'), false);
      const times = { at: ms(1), notWithinMs: 5000 };
      assert.equal(await store.streams.terminate(id, scope, times, receipt), 'not_found');
      assert.equal(await store.streams.delete([id], scope, [receipt]), false);
      assert.equal(await isLogged(receipt), false);
    }
    assert.equal((await store.streams.get(stream.id, user.id))?.name, stream.name);
    assert.equal(await store.streams.change(stream.id, 'everyone', { name: 'by an admin' }, someReceipt()), true);
  });

  it('changes only an idle stream when the caller asks for that', async () => {
    const { store, user } = fixture;
    const stream = await create();
    const change = () => store.streams.change(stream.id, user.id, { record: true }, someReceipt(), 'idle');
    assert.equal(await change(), true);
    await store.streams.setActivity(stream.id, { isActive: true, lastSeen: ms(1), health: undefined });
    await assert.rejects(change(), isMillraceError('conflict'));
    await store.streams.setActivity(stream.id, { isActive: false, lastSeen: ms(1), health: undefined });
    assert.equal(await change(), true);
    // A publisher is connected, though no media has been received yet.
    const node = someNode();
    await store.nodes.renew(node, 60_000);
    await store.publishers.claim(stream.id, node.id);
    await assert.rejects(change(), isMillraceError('conflict'));
    await store.publishers.release(stream.id, node.id);
    assert.equal(await change(), true);
  });

  it('either shows a publisher the change of an idle stream or refuses the change, in whichever order change and claim arrive', async () => {
    const { store, user } = fixture;
    const node = someNode();
    await store.nodes.renew(node, 60_000);
    for (let round = 0; round < 40; round += 1) {
      const stream = await create();
      const change = () =>
        store.streams.change(stream.id, user.id, { record: true }, someReceipt(), 'idle').catch(() => false);
      // The publish gate reads a stream after it has claimed it for its node.
      const claim = async () => {
        await store.publishers.claim(stream.id, node.id);
        return (await store.streams.get(stream.id, user.id))?.record;
      };
      const [isChanged, seen] =
        round % 2 === 0
          ? await Promise.all([change(), claim()])
          : (await Promise.all([claim(), change()])).toReversed();
      assert.equal(seen, isChanged, `round ${round}: published with the old settings`);
    }
  });

  it('terminates a stream once within a time, and returns the time until it may be terminated again', async () => {
    const { store, user } = fixture;
    const stream = await create();
    const terminate = (at: number) =>
      store.streams.terminate(stream.id, user.id, { at: ms(at), notWithinMs: 5000 }, someReceipt());
    assert.equal(await terminate(100_000), 'done');
    assert.deepEqual(await terminate(102_000), { retryAfterMs: 3000 });
    assert.equal((await store.streams.get(stream.id, user.id))?.lastTerminatedAt, 100_000);
    assert.equal(
      (await store.streams.get(stream.id, user.id))?.terminations,
      1,
      'a refused termination does not count',
    );
    assert.equal(await terminate(105_000), 'done');
    assert.equal((await store.streams.get(stream.id, user.id))?.terminations, 2);
    assert.equal((await store.streams.get(stream.id, user.id))?.lastTerminatedAt, 105_000);
    assert.equal(await terminate(50_000), 'done', 'a clock that was set back does not prevent it');
    const both = await Promise.all([terminate(70_000), terminate(70_001)]);
    assert.deepEqual(both.filter((each) => each === 'done').length, 1);
  });

  it('hides a deleted stream from everything except its sessions, and never reuses its ids and keys', async () => {
    const { store, user } = fixture;
    const [stream, other] = [await create({ isActive: true, creatorId: 'me' }), await create()];
    const session = someSession(stream, { phase: 'ended', endedAt: ms(5) });
    await store.sessions.create(session);
    assert.equal(await store.streams.delete([stream.id], user.id, [someReceipt()]), true);
    const everything = { limit: 10, order: 'createdAt', direction: 'desc', filter: {} } as const;
    const gone = [
      await store.streams.get(stream.id, user.id),
      await store.streams.get(stream.id, 'everyone'),
      await store.streams.byPlaybackId(stream.playbackId),
      await store.streams.byStreamKey(stream.streamKey),
    ];
    assert.deepEqual(gone, [undefined, undefined, undefined, undefined]);
    assert.deepEqual(await store.streams.getMany([stream.id]), []);
    for (const filter of [{}, { isActive: true }, { creatorId: 'me' }, { id: stream.id }]) {
      const { rows } = await store.streams.list(user.id, { ...everything, filter });
      assert.ok(rows.every(({ id }) => id === other.id));
      assert.equal(await store.streams.count(user.id, filter, 'createdAt'), rows.length);
    }
    assert.deepEqual(await store.sessions.get(session.id, user.id), session);
    const ofStream = { ...everything, filter: { parentId: stream.id } };
    assert.deepEqual((await store.sessions.list(user.id, ofStream)).rows, [session]);
    for (const taken of ['id', 'playbackId'] as const) {
      const again = someStream(user.id, { [taken]: stream[taken] });
      await assert.rejects(store.streams.create(again, someReceipt()), isMillraceError('conflict'));
    }
  });

  it('creates no more streams than a user may have, also concurrently, and again after deletions', async () => {
    const { store, user } = fixture;
    const [atMost, asked] = [40, 60];
    const another = () => store.streams.create(someStream(user.id), someReceipt(), { atMost });
    const outcomes = await Promise.allSettled(Array.from({ length: asked }, another));
    const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    assert.equal(refused.length, asked - atMost);
    for (const error of refused) {
      assert.ok(isMillraceError('quota_exceeded')(error));
      assert.match((error as Error).message, /\b40 streams\b/);
    }
    assert.equal(await store.streams.count(user.id, {}, 'createdAt'), atMost);
    const { rows } = await store.streams.list(user.id, {
      limit: 3,
      order: 'createdAt',
      direction: 'asc',
      filter: {},
    });
    const ids = rows.map(({ id }) => id);
    await store.streams.delete(
      ids,
      user.id,
      ids.map(() => someReceipt()),
    );
    for (const _ of ids) await another();
    await assert.rejects(another(), isMillraceError('quota_exceeded'));
    await store.streams.create(someStream(user.id), someReceipt(), { atMost: 0 });
    const other = await store.users.ensure(someUser());
    await store.streams.create(someStream(other.id), someReceipt(), { atMost: 1 });
  });

  it('deletes all of several streams, or none when one does not exist', async () => {
    const { store, user } = fixture;
    const streams = [await create(), await create()];
    const foreign = someStream((await store.users.ensure(someUser())).id);
    await store.streams.create(foreign, someReceipt());
    const ids = streams.map(({ id }) => id);
    const remove = (asked: readonly StreamId[]) =>
      store.streams.delete(
        asked,
        user.id,
        asked.map((resourceId) => someReceipt({ resourceId })),
      );
    for (const missing of [foreign.id, newStreamId()]) assert.equal(await remove([...ids, missing]), false);
    for (const { id } of streams) assert.ok(await store.streams.get(id, user.id));
    assert.equal(await remove(ids), true);
    for (const { id } of streams) assert.equal(await store.streams.get(id, user.id), undefined);
    assert.ok(await store.streams.get(foreign.id, 'everyone'));
    assert.equal(await remove(ids), false);
  });

  it('announces each change after its commit, and no change that did not happen', async () => {
    const { store, user } = fixture;
    const heard: StoreAnnouncement[] = [];
    const stream = await create();
    using _ = store.listen((announcement) => {
      if ('streamId' in announcement && announcement.streamId === stream.id) heard.push(announcement);
    });
    const streamId = stream.id;
    await store.streams.change(streamId, user.id, { name: 'x' }, someReceipt());
    await store.streams.change(streamId, newUserId(), { name: 'y' }, someReceipt());
    const times = { at: ms(9), notWithinMs: 5000 };
    await store.streams.terminate(streamId, user.id, times, someReceipt());
    await store.streams.terminate(streamId, user.id, times, someReceipt());
    await store.streams.delete([streamId, newStreamId()], user.id, [someReceipt(), someReceipt()]);
    await store.streams.delete([streamId], user.id, [someReceipt()]);
    const last = { type: 'stream_published', streamId, nodeId: someNode().id } as const;
    await store.announce(last);
    while (!heard.some(({ type }) => type === 'stream_published')) await new Promise(setImmediate);
    assert.deepEqual(heard, [
      { type: 'stream_changed', streamId },
      { type: 'stream_changed', streamId },
      { type: 'stream_changed', streamId },
      last,
    ]);
  });
}

function formerKeys(fixture: Fixture): void {
  it('finds a stream for a while by its replaced key, or by its last key after its deletion, and never by its present key', async () => {
    const { store, user } = fixture;
    const stream = someStream(user.id);
    await store.streams.create(stream, someReceipt());
    const nobody = await store.users.ensure(someUser());
    const rotate = (scope = user.id) => store.streams.change(stream.id, scope, { streamKey: newStreamKey() }, receipt);
    const receipt = someReceipt();
    const { at } = receipt.audit;
    assert.equal(await rotate(nobody.id), false);
    assert.equal(await store.streams.formerly(stream.streamKey, ms(0)), undefined, 'the change was not made');
    assert.equal(await rotate(), true);
    const former = await store.streams.formerly(stream.streamKey, at);
    assert.deepEqual([former?.stream.id, former?.replacedAt], [stream.id, at]);
    assert.equal(await store.streams.formerly(stream.streamKey, ms(at + 1)), undefined);
    const present = (await store.streams.get(stream.id, user.id))!.streamKey;
    assert.equal(await store.streams.formerly(present, ms(0)), undefined);

    await store.streams.delete([stream.id], user.id, [someReceipt()]);
    const deleted = await store.streams.formerly(present, at);
    assert.deepEqual([deleted?.stream.id, deleted?.replacedAt], [stream.id, undefined]);
    assert.equal(await store.streams.formerly(stream.streamKey, at), undefined, 'a former key of a deleted stream');
    assert.equal(await store.streams.formerly(newStreamKey(), ms(0)), undefined);
  });

  it('forgets replaced keys, the oldest first', async () => {
    const { store, user } = fixture;
    const stream = someStream(user.id);
    await store.streams.create(stream, someReceipt());
    const keys = [stream.streamKey, newStreamKey(), newStreamKey(), newStreamKey()];
    const start = 2_000_000_000_000;
    for (const [index, streamKey] of keys.slice(1).entries()) {
      const receipt = someReceipt();
      const audit = { ...receipt.audit, at: ms(start + index) };
      await store.streams.change(stream.id, user.id, { streamKey }, { ...receipt, audit });
    }
    const known = async () => {
      const found = await Promise.all(keys.slice(0, 3).map((key) => store.streams.formerly(key, ms(start))));
      return found.map((each) => each !== undefined);
    };
    assert.deepEqual(await known(), [true, true, true]);
    await store.streams.forgetFormerKeys(ms(start), 1000);
    assert.equal(await store.streams.forgetFormerKeys(ms(start + 2), 1), 1);
    assert.deepEqual(await known(), [false, true, true]);
    assert.equal(await store.streams.forgetFormerKeys(ms(start + 2), 9), 1);
    assert.deepEqual(await known(), [false, false, true]);
  });
}

function userChanges(fixture: Fixture): void {
  it('creates no more API keys than a user may have, not counting revoked ones', async () => {
    const { store, user } = fixture;
    const create = async (name: string) => {
      const key = someKey(user, { name });
      await store.apiKeys.create(key, someReceipt(), { atMost: 2 });
      return key;
    };
    const first = await create('one');
    const outcomes = await Promise.allSettled(['two', 'three', 'four'].map(create));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    await store.apiKeys.revoke(first.id, user.id, someReceipt());
    await create('five');
    await assert.rejects(create('six'), isMillraceError('quota_exceeded'));
  });

  it('always leaves an active admin, also when two are demoted at once', async () => {
    const { store } = fixture;
    const admins = [someUser({ isAdmin: true }), someUser({ isAdmin: true })];
    for (const admin of admins) await store.users.create(admin, someReceipt());
    const demotions = admins.map(({ id }, n) =>
      store.users.change(id, n === 0 ? { isAdmin: false } : { suspended: true }, someReceipt()),
    );
    const outcomes = await Promise.allSettled(demotions);
    const [refused, ...others] = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok(refused !== undefined && isMillraceError('conflict')(refused.reason) && others.length === 0);
  });

  it('creates, changes and finds users, and refuses a name that is taken', async () => {
    const { store } = fixture;
    const [one, other] = [someUser({ isAdmin: true }), someUser()];
    await store.users.create(someUser({ isAdmin: true }), someReceipt());
    await store.users.create(one, someReceipt());
    await store.users.create(other, someReceipt());
    assert.deepEqual(await store.users.get(one.id), one);
    assert.equal(await store.users.get(newUserId()), undefined);
    assert.deepEqual(
      (await store.users.getMany([other.id, newUserId(), one.id])).toSorted((a, b) => a.name.localeCompare(b.name)),
      [one, other].toSorted((a, b) => a.name.localeCompare(b.name)),
    );
    assert.deepEqual(await store.users.getMany([]), []);
    const taken = isMillraceError('conflict');
    await assert.rejects(store.users.create(someUser({ name: one.name }), someReceipt()), taken);
    await assert.rejects(store.users.change(other.id, { name: one.name }, someReceipt()), taken);
    const change = { name: `${one.name} renamed`, isAdmin: false, suspended: true };
    assert.equal(await store.users.change(one.id, change, someReceipt()), true);
    assert.deepEqual(await store.users.get(one.id), { ...one, ...change });
    assert.equal(await store.users.change(newUserId(), change, someReceipt()), false);
  });

  it('changes each quota independently, however many change at the same time', async () => {
    const { store, user } = fixture;
    const change = (quotas: QuotaChange) => store.users.change(user.id, { quotas }, someReceipt());
    assert.deepEqual(await Promise.all([change({ streams: 5 }), change({ viewers: 0 }), change({ apiKeys: 7 })]), [
      true,
      true,
      true,
    ]);
    assert.deepEqual((await store.users.get(user.id))?.quotas, { streams: 5, viewers: 0, apiKeys: 7 });
    await Promise.all([change({ streams: null, publishers: null }), change({ viewers: 9 }), change({})]);
    assert.deepEqual((await store.users.get(user.id))?.quotas, { viewers: 9, apiKeys: 7 });
    const demoted = someUser({ isAdmin: true, quotas: { viewers: 1 } });
    await store.users.create(someUser({ isAdmin: true }), someReceipt());
    await store.users.create(demoted, someReceipt());
    await store.users.change(demoted.id, { isAdmin: false, quotas: { sessions: 3 } }, someReceipt());
    assert.deepEqual((await store.users.get(demoted.id))?.quotas, { viewers: 1, sessions: 3 });
  });

  it('counts the streams and API keys of a user up to a limit', async () => {
    const { store, user } = fixture;
    for (let count = 0; count < 3; count += 1) {
      await store.streams.create(someStream(user.id), someReceipt());
      await store.apiKeys.create(someKey(user, { name: `key ${count}` }), someReceipt());
    }
    const counts = async (atMost: number) => [
      await store.streams.countOf(user.id, atMost),
      await store.apiKeys.countOf(user.id, atMost),
    ];
    assert.deepEqual(await counts(10), [3, 3]);
    assert.deepEqual(await counts(2), [2, 2]);
    assert.equal(await store.streams.countOf(newUserId(), 10), 0);
  });

  it('announces that a user changed', async () => {
    const { store, user } = fixture;
    const { promise, resolve } = Promise.withResolvers<StoreAnnouncement>();
    using _ = store.listen((announcement) => 'userId' in announcement && resolve(announcement));
    await store.users.change(user.id, { suspended: true }, someReceipt());
    assert.deepEqual(await promise, { type: 'user_changed', userId: user.id });
  });

  it("gives a user's unrevoked keys, newest first, with their rules and the time of their last use", async () => {
    const { store, user } = fixture;
    const access = { rules: [{ resources: ['stream/*'], methods: ['get'] }] };
    const changes: Partial<ApiKey>[] = [{ access }, { access: { rules: [] } }, {}, {}];
    const keys = changes.map((change, n) => someKey(user, { ...change, name: `key ${n}`, createdAt: ms(n) }));
    for (const key of keys) await store.apiKeys.create(key, someReceipt());
    await store.apiKeys.revoke(keys[2]!.id, user.id, someReceipt());
    const first = await store.apiKeys.ofUser(user.id, { limit: 2 });
    assert.deepEqual(first.rows, [keys[3], keys[1]]);
    assert.deepEqual(await store.apiKeys.ofUser(user.id, { limit: 2, after: first.next }), {
      rows: [keys[0]],
      next: undefined,
    });

    assert.deepEqual(await store.apiKeys.get(keys[0]!.id, user.id), keys[0]);
    assert.deepEqual(await store.apiKeys.get(keys[0]!.id, 'everyone'), keys[0]);
    assert.equal(await store.apiKeys.get(keys[0]!.id, newUserId()), undefined);
    assert.equal(await store.apiKeys.get(keys[2]!.id, user.id), undefined);
    assert.equal(await store.apiKeys.revoke(keys[0]!.id, newUserId(), someReceipt()), false);

    const unknown = newApiKeyId();
    await store.apiKeys.seen(
      new Map([
        [keys[0]!.id, ms(50)],
        [unknown, ms(50)],
      ]),
    );
    await store.apiKeys.seen(new Map([[keys[0]!.id, ms(40)]]));
    await store.apiKeys.seen(new Map());
    assert.equal((await store.apiKeys.byHash(keys[0]!.secretHash))?.key.lastSeen, 50);
  });
}

function repeats(fixture: Fixture): void {
  const times = { pendingMs: 1000, keepMs: 100_000 };
  const claimOf = (change: Partial<IdempotencyClaim> = {}): IdempotencyClaim => ({
    userId: fixture.user.id,
    route: 'POST /stream',
    keyHash: 'a key',
    bodyHash: 'a body',
    at: ms(1_000_000),
    ...change,
  });
  const claim = (change: Partial<IdempotencyClaim> = {}) => fixture.store.idempotency.claim(claimOf(change), times);
  const createAnswering = (change: Partial<IdempotencyClaim> = {}, sealed = 'an answer') => {
    const stream = someStream(fixture.user.id);
    const receipt = { audit: someAudit(), answer: { claim: claimOf(change), sealed } };
    return { stream, done: fixture.store.streams.create(stream, receipt) };
  };

  it('gives the claim to one of several equal requests, and the others its answer', async () => {
    const twins = await Promise.all(Array.from({ length: 8 }, () => claim()));
    const pending = Array(7).fill({ state: 'pending' });
    assert.deepEqual(
      twins.toSorted((a, b) => (a.state < b.state ? -1 : 1)),
      [{ state: 'claimed' }, ...pending],
    );
    assert.deepEqual(await claim({ bodyHash: 'another' }), { state: 'other_body' });
    await createAnswering().done;
    assert.deepEqual(await claim({ at: ms(1_050_000) }), { state: 'answered', sealed: 'an answer' });
    assert.deepEqual(await claim({ bodyHash: 'another' }), { state: 'other_body' });
  });

  it('tells the state of a request without claiming it, for as long as its claim holds or its answer is kept', async () => {
    const known = (change: Partial<IdempotencyClaim> = {}) => fixture.store.idempotency.known(claimOf(change), times);
    assert.equal(await known(), undefined);
    assert.deepEqual(await claim(), { state: 'claimed' });
    assert.deepEqual(await known({ at: ms(1_000_999) }), { state: 'pending' });
    assert.equal(await known({ at: ms(1_001_000) }), undefined);
    await createAnswering().done;
    assert.deepEqual(await known({ at: ms(1_099_999) }), { state: 'answered', sealed: 'an answer' });
    assert.deepEqual(await known({ bodyHash: 'another' }), { state: 'other_body' });
    assert.equal(await known({ at: ms(1_100_000) }), undefined);
  });

  it('distinguishes users, routes and keys', async () => {
    await claim();
    const other = (await fixture.store.users.ensure(someUser())).id;
    for (const change of [{ userId: other }, { route: 'POST /access' }, { keyHash: 'another' }]) {
      assert.deepEqual(await claim(change), { state: 'claimed' });
    }
  });

  it('gives the claim to a repeat when the first was released, deleted, or took too long', async () => {
    await claim();
    await fixture.store.idempotency.release(claimOf());
    assert.deepEqual(await claim(), { state: 'claimed' });
    assert.deepEqual(await claim({ at: ms(1_000_999) }), { state: 'pending' });
    assert.deepEqual(await claim({ at: ms(1_001_000), bodyHash: 'another' }), { state: 'claimed' });
    await createAnswering({ at: ms(1_001_000) }).done;
    assert.equal((await claim({ at: ms(1_100_999), bodyHash: 'another' })).state, 'answered');
    assert.deepEqual(await claim({ at: ms(1_101_000) }), { state: 'claimed' });
  });

  it('undoes the change of a request whose claim was taken over by a repeat', async () => {
    await claim();
    await claim({ at: ms(1_002_000) });
    const late = createAnswering();
    await assert.rejects(late.done, isMillraceError('conflict'));
    assert.equal(await fixture.store.streams.get(late.stream.id, 'everyone'), undefined);
    await fixture.store.idempotency.release(claimOf());
    assert.deepEqual(
      await claim({ at: ms(1_002_001) }),
      { state: 'pending' },
      'a request cannot release the claim of another',
    );
    await createAnswering({ at: ms(1_002_000) }).done;
  });

  it('keeps an answer only together with its change', async () => {
    await claim();
    const stream = someStream(fixture.user.id);
    await fixture.store.streams.create(stream, someReceipt());
    const receipt = { audit: someAudit(), answer: { claim: claimOf(), sealed: 'an answer' } };
    const unknown = newStreamId();
    assert.equal(await fixture.store.streams.change(unknown, 'everyone', { name: 'x' }, receipt), false);
    await assert.rejects(fixture.store.streams.create(stream, receipt), isMillraceError('conflict'));
    assert.deepEqual(await claim(), { state: 'pending' });
    assert.equal(await fixture.store.streams.change(stream.id, 'everyone', { name: 'x' }, receipt), true);
    assert.equal((await claim()).state, 'answered');
  });

  it('deletes the oldest answers, at most as many as the limit', async () => {
    const keys = ['1', '2', '3', '4'];
    for (const keyHash of keys) await claim({ keyHash, at: ms(Number(keyHash)) });
    const deleteTwo = () => fixture.store.idempotency.deleteOlder(ms(4), 2);
    assert.deepEqual([await deleteTwo(), await deleteTwo(), await deleteTwo()], [2, 1, 0]);
    assert.equal((await claim({ keyHash: '4', at: ms(5) })).state, 'pending');
  });
}

function auditLog(fixture: Fixture): void {
  it('keeps who changed what, and lists the entries newest first, by user and by resource', async () => {
    const { store, user } = fixture;
    const key = someKey(user);
    const actor = { userId: user.id, keyId: key.id, keyName: key.name };
    const change = { actor, fields: ['name', 'record'], remoteAddress: '192.0.2.1', requestId: 'r' };
    const streams = Array.from({ length: 4 }, () => someStream(user.id));
    const entries = streams.map((stream, n) =>
      someAudit({ ...(n < 3 && change), resourceId: stream.id, at: ms(10 + Math.floor(n / 2)) }),
    );
    for (const [n, stream] of streams.entries()) await store.streams.create(stream, { audit: entries[n]! });
    const again = someAudit({ ...change, action: 'stream.updated', resourceId: streams[0]!.id, at: ms(20) });
    await store.streams.change(streams[0]!.id, user.id, { name: 'x' }, { audit: again });

    const newestFirst = [...entries, again].toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
    const ofUser = newestFirst.filter((entry) => entry.actor !== undefined);
    const first = await store.audit.list({}, { limit: 3 });
    assert.deepEqual(first.rows, newestFirst.slice(0, 3));
    assert.deepEqual(await store.audit.list({}, { limit: 3, after: first.next }), {
      rows: newestFirst.slice(3),
      next: undefined,
    });
    assert.deepEqual((await store.audit.list({ userId: user.id }, { limit: 9 })).rows, ofUser);
    const ofStream = [again, entries[0]];
    assert.deepEqual((await store.audit.list({ resourceId: streams[0]!.id }, { limit: 9 })).rows, ofStream);
    const both = { resourceId: streams[0]!.id, userId: user.id };
    assert.deepEqual((await store.audit.list(both, { limit: 9 })).rows, ofStream);
    assert.deepEqual((await store.audit.list({ ...both, userId: newUserId() }, { limit: 9 })).rows, []);

    assert.deepEqual([await store.audit.deleteOlder(ms(20), 3), await store.audit.deleteOlder(ms(20), 3)], [3, 1]);
    assert.deepEqual((await store.audit.list({}, { limit: 9 })).rows, [again]);
  });
}
