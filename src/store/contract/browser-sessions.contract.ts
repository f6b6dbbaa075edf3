/**
 * The part of the contract suite about browser sessions and the links that begin them.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type BrowserSession, MAX_SESSIONS, SESSION_IDLE_MS, SESSION_LIFE_MS } from '#domain/browser-session.ts';
import { newBrowserSessionId } from '#domain/ids.ts';
import { newBrowserSecret } from '#domain/secret.ts';
import type { User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import { someKey, someReceipt, someUser } from '#test/support/sample-records.ts';
import { describeOn, type OpenStore } from './suite.contract.ts';

const NOW = ms(1_795_175_107_399);

/** Declares this part of the suite. */
export function browserSessionsContract(name: string, open: OpenStore): void {
  describeOn(`${name}, keeping browser sessions`, open, (fixture) => {
    const someSession = (user: User, change: Partial<BrowserSession> = {}): BrowserSession => ({
      id: newBrowserSessionId(),
      userId: user.id,
      keyId: undefined,
      secretHash: newBrowserSecret().hash(),
      createdAt: NOW,
      lastSeen: NOW,
      address: '192.0.2.1',
      ...change,
    });
    const create = async (change: Partial<BrowserSession> = {}) => {
      const session = someSession(fixture.user, change);
      await fixture.store.browserSessions.create(session, someReceipt());
      return session;
    };

    it('finds a session by its cookie and by its id, with its user and its key', async () => {
      const { store, user } = fixture;
      const plain = await create();
      assert.deepEqual(await store.browserSessions.byId(plain.id), { session: plain, user, key: undefined });
      assert.deepEqual(await store.browserSessions.byHash(plain.secretHash), { session: plain, user, key: undefined });
      const key = someKey(user, { access: { rules: [{ resources: ['stream'], methods: ['get'] }] } });
      await store.apiKeys.create(key, someReceipt());
      const ofKey = await create({ keyId: key.id });
      assert.deepEqual(await store.browserSessions.byHash(ofKey.secretHash), { session: ofKey, user, key });
      assert.equal(await store.browserSessions.byHash(newBrowserSecret().hash()), undefined);
    });

    it('does not find a session from the moment its key is revoked', async () => {
      const { store, user } = fixture;
      const key = someKey(user);
      await store.apiKeys.create(key, someReceipt());
      const session = await create({ keyId: key.id });
      assert.notEqual(await store.browserSessions.byId(session.id), undefined);
      await store.apiKeys.revoke(key.id, user.id, someReceipt());
      assert.equal(await store.browserSessions.byId(session.id), undefined);
      assert.equal(await store.browserSessions.byHash(session.secretHash), undefined);
    });

    it('lists the sessions of a user newest first, and ends one for its user and for admins only', async () => {
      const { store, user } = fixture;
      const older = await create({ createdAt: ms(NOW - 5) });
      const newer = await create();
      const other = await store.users.ensure(someUser());
      const first = await store.browserSessions.ofUser(user.id, { limit: 1 });
      assert.deepEqual(first.rows, [newer]);
      assert.deepEqual((await store.browserSessions.ofUser(user.id, { limit: 9, after: first.next })).rows, [older]);
      assert.equal(await store.browserSessions.end(older.id, other.id, someReceipt()), false);
      assert.equal(await store.browserSessions.end(older.id, user.id, someReceipt()), true);
      assert.equal(await store.browserSessions.end(newer.id, 'everyone', someReceipt()), true);
      assert.equal(await store.browserSessions.end(newer.id, 'everyone', someReceipt()), false);
      assert.equal(await store.browserSessions.byId(newer.id), undefined);
    });

    it('ends the oldest session of a user who begins one more than a user may have, and none of others', async () => {
      const { store, user } = fixture;
      const other = someSession(await store.users.ensure(someUser()), { createdAt: ms(NOW - 1) });
      await store.browserSessions.create(other, someReceipt());
      const begun: BrowserSession[] = [];
      for (let count = 0; count <= MAX_SESSIONS; count += 1) begun.push(await create({ createdAt: ms(NOW + count) }));
      const [oldest, ...kept] = begun;
      const { rows } = await store.browserSessions.ofUser(user.id, { limit: 2 * MAX_SESSIONS });
      assert.deepEqual(rows, kept.reverse());
      assert.equal(await store.browserSessions.byId(oldest!.id), undefined);
      assert.notEqual(await store.browserSessions.byId(other.id), undefined);
    });

    it('ends no session that began with another key or with a link when too many begin with one key', async () => {
      const { store, user } = fixture;
      const [narrow, other] = [someKey(user, { name: 'narrow', access: { rules: [] } }), someKey(user)];
      for (const key of [narrow, other]) await store.apiKeys.create(key, someReceipt());
      const kept = [await create(), await create({ keyId: other.id })];
      const begun: BrowserSession[] = [];
      for (let count = 0; count <= MAX_SESSIONS; count += 1) {
        begun.push(await create({ keyId: narrow.id, createdAt: ms(NOW + count) }));
      }
      for (const { id } of kept) assert.notEqual(await store.browserSessions.byId(id), undefined);
      const [oldest, next] = begun;
      assert.equal(await store.browserSessions.byId(oldest!.id), undefined);
      assert.notEqual(await store.browserSessions.byId(next!.id), undefined);
    });

    it('deletes the sessions of a key that is revoked, and keeps all others', async () => {
      const { store, user } = fixture;
      const [revoked, other] = [someKey(user, { name: 'revoked' }), someKey(user)];
      for (const key of [revoked, other]) await store.apiKeys.create(key, someReceipt());
      await create({ keyId: revoked.id });
      const kept = [
        await create({ createdAt: ms(NOW + 2) }),
        await create({ keyId: other.id, createdAt: ms(NOW + 1) }),
      ];
      await store.apiKeys.revoke(revoked.id, user.id, someReceipt());
      assert.deepEqual((await store.browserSessions.ofUser(user.id, { limit: 9 })).rows, kept);
    });

    it('keeps when and from where a session was used, and never sets it back', async () => {
      const { store } = fixture;
      const session = await create();
      await store.browserSessions.seen(session.id, ms(NOW + 10), '2001:db8::1');
      await store.browserSessions.seen(session.id, ms(NOW + 5), '192.0.2.9');
      const found = await store.browserSessions.byId(session.id);
      assert.deepEqual(found?.session, { ...session, lastSeen: NOW + 10, address: '2001:db8::1' });
    });

    it('deletes the sessions that are over because of their age', async () => {
      const { store, user } = fixture;
      const reading = someKey(user, {
        name: 'reading',
        access: { rules: [{ resources: ['stream'], methods: ['get'] }] },
      });
      const unlimited = someKey(user, { name: 'unlimited' });
      for (const key of [reading, unlimited]) await store.apiKeys.create(key, someReceipt());
      const lastSeen = ms(NOW - SESSION_IDLE_MS - 1);
      const kept = await create({ lastSeen, createdAt: lastSeen, keyId: reading.id });
      const ofKey = await create({ lastSeen, createdAt: lastSeen, keyId: unlimited.id });
      const idle = await create({ lastSeen: ms(NOW - SESSION_IDLE_MS - 1), createdAt: ms(NOW - SESSION_IDLE_MS - 1) });
      const old = await create({ createdAt: ms(NOW - SESSION_LIFE_MS - 1) });
      const good = await create();
      assert.ok((await store.browserSessions.deleteOver(NOW)) >= 3);
      assert.equal(await store.browserSessions.byId(idle.id), undefined);
      assert.equal(await store.browserSessions.byId(ofKey.id), undefined);
      assert.deepEqual((await store.browserSessions.byId(kept.id))?.session, kept);
      assert.equal(await store.browserSessions.byId(old.id), undefined);
      assert.deepEqual((await store.browserSessions.byId(good.id))?.session, good);
    });

    it('uses a link once, however many try at once, and not after its time', async () => {
      const { store, user } = fixture;
      const link = { userId: user.id, secretHash: newBrowserSecret().hash(), expiresAt: ms(NOW + 100) };
      await store.browserSessions.putLink(link, someReceipt());
      assert.deepEqual(await store.browserSessions.link(link.secretHash), link);
      const late = someSession(user, { createdAt: ms(NOW + 100) });
      assert.equal(await store.browserSessions.useLink(link, late, someReceipt()), false);
      const tries = Array.from({ length: 5 }, () => someSession(user));
      const used = await Promise.all(tries.map((each) => store.browserSessions.useLink(link, each, someReceipt())));
      assert.equal(used.filter(Boolean).length, 1);
      const winner = tries[used.indexOf(true)]!;
      assert.deepEqual((await store.browserSessions.ofUser(user.id, { limit: 9 })).rows, [winner]);
      assert.equal(await store.browserSessions.link(link.secretHash), undefined);
    });

    it('makes an older link of the same user invalid with a new one', async () => {
      const { store, user } = fixture;
      const [older, newer] = [1, 2].map(() => ({
        userId: user.id,
        secretHash: newBrowserSecret().hash(),
        expiresAt: ms(NOW + 100),
      }));
      await store.browserSessions.putLink(older!, someReceipt());
      await store.browserSessions.putLink(newer!, someReceipt());
      assert.equal(await store.browserSessions.useLink(older!, someSession(user), someReceipt()), false);
      assert.equal(await store.browserSessions.useLink(newer!, someSession(user), someReceipt()), true);
    });
  });
}
