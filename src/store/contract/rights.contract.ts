/**
 * The part of the contract suite about playback rights: signing keys, and the policies of streams.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newSigningKeyId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { SigningKey } from '#domain/signing-key.ts';
import { ms } from '#lib/units.ts';
import { someReceipt, someStream, someUser } from '#test/support/sample-records.ts';
import { describeOn, isMillraceError, type OpenStore } from './suite.contract.ts';

/** Declares this part of the suite. */
export function rightsContract(name: string, open: OpenStore): void {
  describeOn(`${name}, keeping playback rights`, open, (fixture) => {
    const create = async (change: Partial<SigningKey> = {}, atMost = 0) => {
      const key: SigningKey = {
        id: newSigningKeyId(),
        userId: fixture.user.id,
        name: 'a signing key',
        createdAt: ms(5),
        publicKey: 'base64 of a PEM file',
        disabled: false,
        ...change,
      };
      await fixture.store.signingKeys.create(key, someReceipt(), { atMost });
      return key;
    };

    it('keeps signing keys, lists them newest first, and shows each only to its user and to admins', async () => {
      const { store, user } = fixture;
      const older = await create({ createdAt: ms(1) });
      const newer = await create({ createdAt: ms(2), disabled: true });
      const other = await store.users.ensure(someUser());
      const first = await store.signingKeys.ofUser(user.id, { limit: 1 });
      assert.deepEqual(first.rows, [newer]);
      assert.deepEqual((await store.signingKeys.ofUser(user.id, { limit: 9, after: first.next })).rows, [older]);
      assert.deepEqual((await store.signingKeys.ofUser(other.id, { limit: 9 })).rows, []);
      assert.deepEqual(await store.signingKeys.get(older.id, user.id), older);
      assert.deepEqual(await store.signingKeys.get(older.id, 'everyone'), older);
      assert.equal(await store.signingKeys.get(older.id, other.id), undefined);
    });

    it('changes and deletes a signing key for those who may see it, each together with an entry in the audit log', async () => {
      const { store, user } = fixture;
      const key = await create();
      const other = await store.users.ensure(someUser());
      const isLogged = async (receipt: ReturnType<typeof someReceipt>) =>
        (await store.audit.list({ resourceId: receipt.audit.resourceId }, { limit: 9 })).rows.length > 0;
      const refused = someReceipt();
      assert.equal(await store.signingKeys.change(key.id, other.id, { disabled: true }, refused), false);
      assert.equal(await store.signingKeys.delete(key.id, other.id, refused), false);
      assert.equal(await isLogged(refused), false);
      const receipt = someReceipt();
      assert.equal(await store.signingKeys.change(key.id, user.id, { disabled: true, name: 'b' }, receipt), true);
      assert.equal(await isLogged(receipt), true);
      assert.deepEqual(await store.signingKeys.get(key.id, user.id), { ...key, disabled: true, name: 'b' });
      assert.equal(await store.signingKeys.change(key.id, user.id, {}, someReceipt()), true);
      assert.equal(await store.signingKeys.delete(key.id, 'everyone', someReceipt()), true);
      assert.equal(await store.signingKeys.delete(key.id, 'everyone', someReceipt()), false);
    });

    it('gives a user no more signing keys than the limit, and another after one was deleted', async () => {
      const key = await create({}, 2);
      await create({}, 2);
      await assert.rejects(create({}, 2), isMillraceError('quota_exceeded'));
      await fixture.store.signingKeys.delete(key.id, 'everyone', someReceipt());
      await create({}, 2);
    });

    it('keeps the policy of a stream as it was sent, and removes it', async () => {
      const { store, user } = fixture;
      const playbackPolicy: PlaybackPolicy = {
        type: 'webhook',
        webhookId: 'w',
        webhookContext: { b: 1, a: [null, 'ü'] },
        refreshInterval: 1.5,
        allowedOrigins: ['https://example.com'],
      };
      const stream = someStream(user.id, { playbackPolicy });
      await store.streams.create(stream, someReceipt());
      const read = async () => (await store.streams.byPlaybackId(stream.playbackId))?.playbackPolicy;
      assert.equal(JSON.stringify(await read()), JSON.stringify(playbackPolicy));
      await store.streams.change(stream.id, user.id, { playbackPolicy: { type: 'jwt' } }, someReceipt());
      assert.deepEqual(await read(), { type: 'jwt' });
      await store.streams.change(stream.id, user.id, { name: 'y' }, someReceipt());
      assert.deepEqual(await read(), { type: 'jwt' }, 'another change leaves the policy as it is');
      await store.streams.change(stream.id, user.id, { playbackPolicy: undefined }, someReceipt());
      assert.equal(await read(), undefined);
    });
  });
}
