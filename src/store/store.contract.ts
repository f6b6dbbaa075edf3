/**
 * The contract suite, which every engine passes. It tests the promises of `store.ts` through that interface alone.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  newApiKeyId,
  newMediaPath,
  newNodeId,
  newPlaybackId,
  newSessionId,
  newStreamId,
  newUserId,
} from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import { newStreamKey, Secret } from '#domain/secret.ts';
import type { SessionPhase } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import {
  someHealth,
  someKey,
  someNode,
  someReceipt,
  someSession,
  someStream,
  someUser,
} from '#test/support/sample-records.ts';
import { assetsContract } from './contract/assets.contract.ts';
import { browserSessionsContract } from './contract/browser-sessions.contract.ts';
import { changesContract } from './contract/changes.contract.ts';
import { eventsContract } from './contract/events.contract.ts';
import { listsContract } from './contract/lists.contract.ts';
import { nodesContract } from './contract/nodes.contract.ts';
import { rightsContract } from './contract/rights.contract.ts';
import { isMillraceError, type OpenStore } from './contract/suite.contract.ts';
import { usageContract } from './contract/usage.contract.ts';
import type { Page, PageKey } from './page.ts';
import { type ListOptions, REVOKED_KEYS_KEPT, type Store } from './store.ts';

/**
 * Declares the suite.
 * @param open opens an empty store each time; the suite disposes it
 */
export function storeContract(name: string, open: OpenStore): void {
  listsContract(name, open);
  changesContract(name, open);
  nodesContract(name, open);
  eventsContract(name, open);
  rightsContract(name, open);
  usageContract(name, open);
  assetsContract(name, open);
  browserSessionsContract(name, open);

  describe(`${name}, as a store of users, streams and sessions`, () => {
    let store: Store;
    let user: User;

    before(async () => {
      store = await open();
    });
    beforeEach(async () => {
      user = await store.users.ensure(someUser());
    });
    after(() => store[Symbol.asyncDispose]());

    describe('users', () => {
      it('creates a user once and returns the same one from then on', async () => {
        assert.deepEqual(await store.users.ensure(someUser({ name: user.name })), user);
        assert.deepEqual(await store.users.byName(user.name), user);
        assert.equal(await store.users.byName('nobody'), undefined);
      });

      it('creates one user when many calls ask for it at once', async () => {
        const { name } = someUser();
        const asked = Array.from({ length: 8 }, () => store.users.ensure(someUser({ name })));
        const ids = (await Promise.all(asked)).map(({ id }) => id);
        assert.equal(new Set(ids).size, 1);
      });
    });

    describe('streams', () => {
      it('returns a stream as it was created, by id, stream key and playback id', async () => {
        const profiles = [{ width: 1, name: 'é "quoted" \u{1f3a5}', fps: 0, height: 2, bitrate: 3, quality: 4 }];
        const stream = someStream(user.id, { name: `two\nlines, 'quotes' \u{1f600}`, profiles });
        await store.streams.create(stream, someReceipt());
        const found = [
          await store.streams.get(stream.id, user.id),
          await store.streams.byStreamKey(new Secret(stream.streamKey.reveal())),
          await store.streams.byPlaybackId(stream.playbackId),
        ];
        for (const each of found) {
          assert.deepEqual(plain(each), plain(stream));
          assert.deepEqual(Object.keys(each!.profiles[0]!), Object.keys(profiles[0]!), 'key order of a profile');
        }
      });

      it('keeps an empty list of profiles and truth values', async () => {
        const stream = someStream(user.id, { profiles: [], isActive: true, suspended: true });
        await store.streams.create(stream, someReceipt());
        assert.deepEqual(plain(await store.streams.get(stream.id, user.id)), plain(stream));
      });

      it('keeps any name and any profiles as they were', async () => {
        const profiles = fc.array(fc.record({ name: unicode, bitrate: fc.nat() }, { noNullPrototype: true }), {
          maxLength: 3,
        });
        await fc.assert(
          fc.asyncProperty(unicode, profiles, async (name, ladder) => {
            const stream = someStream(user.id, { name, profiles: ladder as unknown as Profile[] });
            await store.streams.create(stream, someReceipt());
            assert.deepEqual(plain(await store.streams.get(stream.id, user.id)), plain(stream));
          }),
          { numRuns: 30 },
        );
      });

      it('finds no stream of another user, and none that does not exist', async () => {
        const stream = someStream(user.id);
        await store.streams.create(stream, someReceipt());
        const other = await store.users.ensure(someUser());
        assert.equal(await store.streams.get(stream.id, other.id), undefined);
        assert.equal(await store.streams.get(newStreamId(), user.id), undefined);
        assert.equal(await store.streams.byStreamKey(newStreamKey()), undefined);
        assert.equal(await store.streams.byPlaybackId(newPlaybackId()), undefined);
        assert.deepEqual(await store.streams.list(other.id, newestFirst(10)), { rows: [], next: undefined });
      });

      it('refuses a stream whose id or playback id is taken, without showing the stream key', async () => {
        const stream = someStream(user.id);
        await store.streams.create(stream, someReceipt());
        for (const taken of ['id', 'playbackId'] as const) {
          const clash = store.streams.create(someStream(user.id, { [taken]: stream[taken] }), someReceipt());
          await assert.rejects(clash, (error: Error) => {
            assert.ok(!error.message.includes(stream.streamKey.reveal()));
            return isMillraceError('conflict')(error);
          });
        }
      });

      it('keeps the activity and health of a stream', async () => {
        const stream = someStream(user.id);
        await store.streams.create(stream, someReceipt());
        await store.streams.setActivity(stream.id, {
          isActive: true,
          lastSeen: ms(1_700_000_000_123),
          health: someHealth(),
        });
        const seen = await store.streams.get(stream.id, user.id);
        assert.deepEqual([seen?.isActive, seen?.lastSeen, seen?.health], [true, 1_700_000_000_123, someHealth()]);
        await store.streams.setActivity(stream.id, {
          isActive: false,
          lastSeen: ms(1_700_000_000_456),
          health: undefined,
        });
        const idle = await store.streams.get(stream.id, user.id);
        assert.deepEqual([idle?.isActive, idle?.health], [false, undefined]);
      });

      it('lists every stream once, newest first, for any page size', async () => {
        // There are few different times, so that pages end between streams with the same time.
        const ages = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 12 });
        const limits = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });
        await fc.assert(
          fc.asyncProperty(ages, limits, async (times, sizes) => {
            const owner = await store.users.ensure(someUser());
            const streams = times.map((time) => someStream(owner.id, { createdAt: ms(time) }));
            await Promise.all(
              [...streams, someStream(user.id)].map((stream) => store.streams.create(stream, someReceipt())),
            );
            const walked = await walk((limit, after) => store.streams.list(owner.id, newestFirst(limit, after)), sizes);
            const expected = streams
              .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
              .map(({ id }) => id);
            assert.deepEqual(walked, expected);
          }),
          { numRuns: 20 },
        );
      });

      it('has no next page when the last one is exactly full', async () => {
        for (let n = 0; n < 4; n += 1)
          await store.streams.create(someStream(user.id, { createdAt: ms(n) }), someReceipt());
        const { rows, next } = await store.streams.list(user.id, newestFirst(4));
        assert.deepEqual([rows.length, next], [4, undefined]);
      });

      it('continues after a page although streams were created in the meantime', async () => {
        for (const time of [1, 2, 3])
          await store.streams.create(someStream(user.id, { createdAt: ms(time) }), someReceipt());
        const { next } = await store.streams.list(user.id, newestFirst(2));
        await store.streams.create(someStream(user.id, { createdAt: ms(4) }), someReceipt());
        const { rows } = await store.streams.list(user.id, newestFirst(2, next));
        assert.deepEqual(
          rows.map(({ createdAt }) => createdAt),
          [1],
        );
      });
    });

    describe('sessions', () => {
      let stream: Stream;
      beforeEach(async () => {
        stream = someStream(user.id);
        await store.streams.create(stream, someReceipt());
      });

      it('returns a session as it was created, only to its owner', async () => {
        const full = { reconnectUntil: ms(7), endedAt: ms(8), endReason: 'replaced', phase: 'ended' } as const;
        for (const session of [
          someSession(stream),
          someSession(stream, { ...full, ...MEASURED, restarts: 3, codecs: 'avc1' }),
        ]) {
          await store.sessions.create(session);
          assert.deepEqual(await store.sessions.get(session.id, user.id), session);
          assert.deepEqual(await store.sessions.get(session.id, 'everyone'), session);
          assert.equal(await store.sessions.get(session.id, newUserId()), undefined);
        }
      });

      it('changes the given fields and leaves the others', async () => {
        const session = someSession(stream, { codecs: 'avc1' });
        await store.sessions.create(session);
        const [until, seen] = [ms(99), ms(98)];
        await store.sessions.change(session.id, { phase: 'reconnecting', reconnectUntil: until, lastSeen: seen });
        const waiting = { ...session, phase: 'reconnecting', reconnectUntil: until, lastSeen: seen } as const;
        assert.deepEqual(await store.sessions.get(session.id, user.id), waiting);
        await store.sessions.change(session.id, { phase: 'live', reconnectUntil: undefined, restarts: 1 });
        const live = { ...waiting, phase: 'live', reconnectUntil: undefined, restarts: 1 } as const;
        assert.deepEqual(await store.sessions.get(session.id, user.id), live);
        await store.sessions.change(session.id, MEASURED);
        const measured = { ...live, ...MEASURED };
        assert.deepEqual(await store.sessions.get(session.id, user.id), measured);
        await store.sessions.change(session.id, {});
        assert.deepEqual(await store.sessions.get(session.id, user.id), measured);
        await store.sessions.change(newSessionId(), { viewers: 1 });
      });

      it('accepts a repeated creation of a session, for a writer that does not know whether it happened', async () => {
        const session = someSession(stream);
        await store.sessions.create(session);
        const later = { ...session, phase: 'live', lastSeen: ms(5) } as const;
        await store.sessions.create(later);
        assert.deepEqual(await store.sessions.get(session.id, user.id), later);
      });

      it("lists a node's sessions in some phases, oldest first", async () => {
        const node = newNodeId();
        const phases = ['live', 'ended', 'starting', 'reconnecting', 'ended'] as const;
        const sessions = phases.map((phase, n) => someSession(stream, { phase, createdAt: ms(100 - n), nodeId: node }));
        const foreign = someSession(stream, { phase: 'live', createdAt: ms(1) });
        for (const session of [...sessions, foreign]) await store.sessions.create(session);
        const ofNode = async (...asked: Exclude<SessionPhase, 'ended'>[]) =>
          (await store.sessions.ofNode(node, asked)).filter(({ streamId }) => streamId === stream.id);
        // In a store that is not shared, the serving process owns every session.
        const others = store.isShared ? [] : [foreign];
        assert.deepEqual(await ofNode('starting', 'live', 'reconnecting'), [
          ...others,
          sessions[3],
          sessions[2],
          sessions[0],
        ]);
        assert.deepEqual(await ofNode('live'), [...others, sessions[0]]);
        assert.deepEqual(await store.sessions.ofNode(node, []), []);
        assert.deepEqual(await store.sessions.openOf(stream.id), [foreign, sessions[3], sessions[2], sessions[0]]);
      });

      it('finds the session of a playback id, and of a media path, with the node it runs on', async () => {
        const node = someNode();
        await store.nodes.renew(node, 60_000);
        const sessions = [1, 3, 2].map((at) => someSession(stream, { createdAt: ms(at), nodeId: node.id }));
        for (const session of sessions) await store.sessions.create(session);
        const newest = { session: sessions[1], node };
        assert.deepEqual(await store.sessions.newest(stream.playbackId), newest);
        assert.deepEqual(await store.sessions.byMediaPath(sessions[1]!.mediaPath), newest);
        assert.equal((await store.sessions.byMediaPath(sessions[0]!.mediaPath))?.session.id, sessions[0]!.id);
        const homeless = someSession(stream, { createdAt: ms(4) });
        await store.sessions.create(homeless);
        assert.deepEqual(await store.sessions.newest(stream.playbackId), { session: homeless, node: undefined });
        await store.sessions.change(homeless.id, { phase: 'ended' });
        assert.deepEqual(await store.sessions.newest(stream.playbackId), newest, 'of the open sessions');
        for (const { id } of sessions) await store.sessions.change(id, { phase: 'ended' });
        assert.equal((await store.sessions.newest(stream.playbackId))?.session.id, homeless.id, 'of all sessions');
        assert.equal(await store.sessions.newest(newPlaybackId()), undefined);
        assert.equal(await store.sessions.byMediaPath(newMediaPath()), undefined);
      });

      it('deletes sessions that ended before a time, the oldest first and at most as many as the limit', async () => {
        const ended = [5, 3, 4, 9].map((at) => someSession(stream, { phase: 'ended', endedAt: ms(at) }));
        const open = someSession(stream, { phase: 'live' });
        for (const session of [...ended, open]) await store.sessions.create(session);
        const left = async () => {
          const found = await Promise.all([...ended, open].map(({ id }) => store.sessions.get(id, user.id)));
          return found.map((session) => session?.endedAt ?? (session && 'open'));
        };
        assert.equal(await store.sessions.deleteEnded(ms(6), 2), 2);
        assert.deepEqual(await left(), [5, undefined, undefined, 9, 'open']);
        assert.equal(await store.sessions.deleteEnded(ms(6), 2), 1);
        assert.equal(await store.sessions.deleteEnded(ms(6), 2), 0);
        assert.deepEqual(await left(), [undefined, undefined, undefined, 9, 'open']);
      });

      it('deletes ended sessions older than the newest ones that a user keeps, the oldest first and at most as many as the limit', async () => {
        const [owner, other] = [await store.users.ensure(someUser()), await store.users.ensure(someUser())];
        const [own, foreign] = [someStream(owner.id), someStream(other.id)];
        for (const each of [own, foreign]) await store.streams.create(each, someReceipt());
        // The sessions are not created in the order in which they began. Two began at the same time, and one has not ended.
        const begun = [5, 2, 3, 7, 4, 4, 6];
        const sessions = begun.map((at) => someSession(own, { createdAt: ms(at), phase: 'ended', endedAt: ms(9) }));
        const open = someSession(own, { createdAt: ms(1), phase: 'live' });
        const ofOther = someSession(foreign, { createdAt: ms(0), phase: 'ended', endedAt: ms(8) });
        for (const session of [...sessions, open, ofOther]) await store.sessions.create(session);
        const left = async () => {
          const page = await store.sessions.list('everyone', newestFirst(1000));
          const found = page.rows.filter(({ userId }) => userId === owner.id || userId === other.id);
          return found.map(({ userId, createdAt }) => (userId === owner.id ? createdAt : 'other'));
        };
        assert.equal(await store.sessions.deleteBeyond(owner.id, 8, 10), 0, 'no more than are kept');
        assert.equal(await store.sessions.deleteBeyond(owner.id, 3, 2), 2);
        assert.deepEqual(await left(), [7, 6, 5, 4, 4, 1, 'other']);
        assert.equal(await store.sessions.deleteBeyond(owner.id, 3, 10), 2);
        assert.equal(await store.sessions.deleteBeyond(owner.id, 3, 10), 0, 'what has not ended stays');
        assert.deepEqual(await left(), [7, 6, 5, 1, 'other']);
        assert.equal(await store.sessions.deleteBeyond(newUserId(), 1, 10), 0);
      });

      it('lists the users with a session that ended since a time, each once', async () => {
        const [owner, other] = [await store.users.ensure(someUser()), await store.users.ensure(someUser())];
        const [own, foreign] = [someStream(owner.id), someStream(other.id)];
        for (const each of [own, foreign]) await store.streams.create(each, someReceipt());
        const ended = (at: number) => ({ phase: 'ended', endedAt: ms(at) }) as const;
        for (const at of [1001, 1002]) await store.sessions.create(someSession(own, ended(at)));
        await store.sessions.create(someSession(own, { phase: 'live' }));
        await store.sessions.create(someSession(foreign, ended(1000)));
        assert.deepEqual(await store.sessions.usersWithEnded(ms(1001)), [owner.id]);
        assert.deepEqual(new Set(await store.sessions.usersWithEnded(ms(1000))), new Set([owner.id, other.id]));
        assert.deepEqual(await store.sessions.usersWithEnded(ms(1003)), []);
      });
    });
  });

  describe(`${name}, as a store of API keys, empty at first`, () => {
    let store: Store;
    let user: User;

    beforeEach(async () => {
      store = await open();
      user = await store.users.ensure(someUser());
    });
    afterEach(() => store[Symbol.asyncDispose]());

    it('finds a key by the hash of its secret until it is revoked', async () => {
      const key = someKey(user);
      await store.apiKeys.create(key, someReceipt());
      assert.deepEqual(await store.apiKeys.byHash(key.secretHash), { key, user });
      assert.deepEqual(await store.apiKeys.byHash(key.secretHash, '192.0.2.1'), { key, user });
      assert.equal(await store.apiKeys.revoke(key.id, 'everyone', someReceipt({ at: ms(5) })), true);
      assert.equal(await store.apiKeys.byHash(key.secretHash), undefined);
      assert.equal(await store.apiKeys.byHash(key.secretHash, '192.0.2.1'), undefined);
      assert.equal(await store.apiKeys.revoke(key.id, 'everyone', someReceipt({ at: ms(6) })), false);
      assert.equal(await store.apiKeys.revoke(newApiKeyId(), 'everyone', someReceipt({ at: ms(6) })), false);
      assert.deepEqual(await store.apiKeys.list(), [{ ...key, revokedAt: 5, userName: user.name }]);
    });

    it("refuses a second key with the same name among a user's unrevoked keys", async () => {
      const first = someKey(user);
      await store.apiKeys.create(first, someReceipt());
      await assert.rejects(store.apiKeys.create(someKey(user), someReceipt()), isMillraceError('conflict'));
      await store.apiKeys.create(someKey(await store.users.ensure(someUser())), someReceipt());
      await store.apiKeys.revoke(first.id, 'everyone', someReceipt({ at: ms(5) }));
      await store.apiKeys.create(someKey(user), someReceipt());
      assert.equal((await store.apiKeys.list()).length, 3);
    });

    it('lists keys oldest first, revoked ones included', async () => {
      const keys = [3, 1, 2].map((age) => someKey(user, { name: `key ${age}`, createdAt: ms(age) }));
      for (const key of keys) await store.apiKeys.create(key, someReceipt());
      await store.apiKeys.revoke(keys[2]!.id, 'everyone', someReceipt({ at: ms(9) }));
      const listed = await store.apiKeys.list();
      assert.deepEqual(
        listed.map(({ name, revokedAt }) => [name, revokedAt]),
        [
          ['key 1', undefined],
          ['key 2', 9],
          ['key 3', undefined],
        ],
      );
    });

    it('creates the first key once, however many calls ask for it', async () => {
      const admin = someUser({ name: 'admin' });
      const made = await Promise.all(
        Array.from({ length: 8 }, () =>
          store.apiKeys.createFirst(admin, someKey(admin, { name: 'default' }), [someReceipt()]),
        ),
      );
      assert.deepEqual(made.filter(Boolean), [true]);
      assert.deepEqual(
        (await store.apiKeys.list()).map(({ name, userName, userId }) => ({ name, userName, userId })),
        [{ name: 'default', userName: 'admin', userId: admin.id }],
      );
      assert.equal(
        (await store.audit.list({}, { limit: 10 })).rows.length,
        1,
        'calls that created no key leave no entry',
      );
    });

    it('creates neither a first key nor its user when a revoked key exists', async () => {
      const key = someKey(user);
      await store.apiKeys.create(key, someReceipt());
      await store.apiKeys.revoke(key.id, 'everyone', someReceipt({ at: ms(5) }));
      const admin = someUser({ name: 'admin' });
      assert.equal(await store.apiKeys.createFirst(admin, someKey(admin), [someReceipt()]), false);
      assert.equal(await store.users.byName('admin'), undefined);
    });

    it('gives the first key to a user that already exists', async () => {
      const sameName = someUser({ name: user.name });
      assert.equal(await store.apiKeys.createFirst(sameName, someKey(sameName), [someReceipt()]), true);
      assert.equal((await store.apiKeys.list())[0]?.userId, user.id);
    });

    it('knows whether there is a key, and whether one was used or revoked', async () => {
      const known = async () => [await store.apiKeys.exist(), await store.apiKeys.wereUsed()];
      assert.deepEqual(await known(), [false, false]);
      const [used, revoked] = [someKey(user, { name: 'used' }), someKey(user, { name: 'revoked' })];
      await store.apiKeys.create(revoked, someReceipt());
      assert.deepEqual(await known(), [true, false]);
      await store.apiKeys.revoke(revoked.id, 'everyone', someReceipt({ at: ms(5) }));
      assert.deepEqual(await known(), [true, true]);
      const other = await open();
      await other.users.ensure(user);
      await other.apiKeys.create(used, someReceipt());
      await other.apiKeys.seen(new Map([[used.id, ms(6)]]));
      assert.equal(await other.apiKeys.wereUsed(), true);
      await other[Symbol.asyncDispose]();
    });

    it('keeps only the newest revoked keys of each user, without their rules', async () => {
      const access = { rules: [{ resources: ['x'.repeat(90_000)] }] };
      const other = await store.users.ensure(someUser());
      const create = async (owner: User, count: number) => {
        const key = someKey(owner, { name: `key ${count}`, createdAt: ms(count), access });
        await store.apiKeys.create(key, someReceipt());
        return key;
      };
      const valid = [await create(user, 0), await create(other, 0)];
      await store.apiKeys.revoke((await create(other, 1)).id, other.id, someReceipt({ at: ms(1) }));
      for (let count = 1; count <= REVOKED_KEYS_KEPT + 20; count += 1) {
        const key = await create(user, count);
        assert.equal(await store.apiKeys.revoke(key.id, 'everyone', someReceipt({ at: ms(count) })), true);
      }
      const listed = await store.apiKeys.list();
      const revoked = (owner: User) => listed.filter((key) => key.userId === owner.id && key.revokedAt !== undefined);
      assert.deepEqual(
        revoked(user).map(({ name }) => name),
        Array.from({ length: REVOKED_KEYS_KEPT }, (_, index) => `key ${index + 21}`),
      );
      assert.equal(revoked(other).length, 1);
      assert.ok([...revoked(user), ...revoked(other)].every((key) => key.access === undefined));
      for (const key of valid) assert.deepEqual((await store.apiKeys.byHash(key.secretHash))?.key, key);
    });

    it('rejects calls after closing, and closes once', async () => {
      const closing = store[Symbol.asyncDispose]();
      await Promise.all([closing, store[Symbol.asyncDispose]()]);
      await assert.rejects(store.users.byName(user.name), isMillraceError('store_unavailable'));
      await assert.rejects(
        store.streams.create(someStream(user.id), someReceipt()),
        isMillraceError('store_unavailable'),
      );
    });
  });
}

/** Arbitrary text with letters, marks, emoji and control characters. U+0000 is left out, as in the API. */
const unicode = fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.includes('\0'));

/** A stream with its key as plain text, for comparison. */
function plain(stream: Stream | undefined) {
  return stream && { ...stream, streamKey: stream.streamKey.reveal() };
}

/** The measured fields of a session and its node. */
const MEASURED = {
  totals: {
    sourceBytes: 2 ** 40,
    sourceSegments: 7,
    sourceSegmentsDuration: 13.5,
    transcodedBytes: 3,
    transcodedSegments: 4,
    transcodedSegmentsDuration: 0.25,
    peakViewers: 1000,
  },
  name: 'renamed',
  viewers: 12,
  health: someHealth({ warnings: [] }),
  nodeId: newNodeId(),
} as const;

/** The options for a page of everything, the newest first. */
const newestFirst = (limit: number, after?: PageKey): ListOptions => ({
  limit,
  after,
  order: 'createdAt',
  direction: 'desc',
  filter: {},
});

/** Reads all pages with each page size, and returns their ids. */
async function walk<Row extends { readonly id: string }>(
  list: (limit: number, after: PageKey | undefined) => Promise<Page<Row>>,
  sizes: readonly number[],
): Promise<Row['id'][]> {
  const ids: string[] = [];
  let after: PageKey | undefined;
  for (let page = 0; ; page += 1) {
    const { rows, next } = await list(sizes[page % sizes.length] as number, after);
    ids.push(...rows.map(({ id }) => id));
    if (next === undefined) return ids;
    after = next;
  }
}
