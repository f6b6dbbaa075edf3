/**
 * The contract suite, which every engine passes. It tests the promises of `objects.ts` through that interface alone.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ObjectStore } from './objects.ts';

/**
 * Declares the suite.
 * @param open opens an empty store each time; the suite disposes it
 */
export function objectsContract(name: string, open: () => Promise<ObjectStore>): void {
  describe(`${name}, as an object store`, () => {
    let store: ObjectStore;
    let folder: string;

    before(async () => {
      store = await open();
      folder = mkdtempSync(join(tmpdir(), 'millrace-objects-'));
    });
    after(async () => {
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });

    const names = async (prefix: string) => (await Array.fromAsync(store.list(prefix), (each) => each.name)).sort();
    const text = async (of: string) => (await store.get(of))?.toString();

    it('returns what was put, whole and in ranges', async () => {
      const bytes = randomBytes(100_000);
      await store.put('put/object.mp4', bytes);
      assert.deepEqual(await store.head('put/object.mp4'), { name: 'put/object.mp4', sizeBytes: 100_000 });
      assert.deepEqual(Buffer.from((await store.get('put/object.mp4'))!), bytes);
      await fc.assert(
        fc.asyncProperty(fc.nat(100_000), fc.nat(100_000), async (one, other) => {
          const [from, until] = [Math.min(one, other), Math.max(one, other)];
          fc.pre(until !== 1); // s3rver answers a request for the first byte alone with the whole object
          assert.deepEqual(
            Buffer.from((await store.get('put/object.mp4', { from, until }))!),
            bytes.subarray(from, until),
          );
        }),
        { numRuns: 20 },
      );
    });

    it('returns what was put as a file', async () => {
      const bytes = randomBytes(700_000);
      const path = join(folder, 'file');
      writeFileSync(path, bytes);
      await store.putFile('file/source.0.mp4', path);
      assert.deepEqual(Buffer.from((await store.get('file/source.0.mp4'))!), bytes);
    });

    it('keeps empty objects', async () => {
      await store.put('empty/1', new Uint8Array());
      writeFileSync(join(folder, 'empty'), '');
      await store.putFile('empty/2', join(folder, 'empty'));
      for (const each of ['empty/1', 'empty/2']) {
        assert.deepEqual(await store.head(each), { name: each, sizeBytes: 0 });
        assert.equal(await text(each), '');
        assert.equal((await store.get(each, { from: 0, until: 0 }))?.length, 0);
      }
    });

    it('reads an object that does not exist as undefined', async () => {
      assert.equal(await store.head('none/1'), undefined);
      assert.equal(await store.get('none/1'), undefined);
      assert.equal(await store.get('none/1', { from: 0, until: 5 }), undefined);
      assert.equal(await store.get('none/1', { from: 5, until: 5 }), undefined);
      assert.deepEqual(await names('none/'), []);
    });

    it('does not read beyond the end of an object', async () => {
      await store.put('short/1', Buffer.from('12345'));
      await assert.rejects(store.get('short/1', { from: 3, until: 6 }), { name: 'ObjectStoreError' });
      await assert.rejects(store.get('short/1', { from: 6, until: 9 }), { name: 'ObjectStoreError' });
    });

    it('replaces an object as a whole', async () => {
      await store.put('again/manifest.json', Buffer.from('a longer text'));
      await store.put('again/manifest.json', Buffer.from('short'));
      assert.equal(await text('again/manifest.json'), 'short');
    });

    it('deletes an object, and does nothing when there is none', async () => {
      await store.put('gone/1', Buffer.from('1'));
      await store.put('gone/2', Buffer.from('2'));
      await store.delete('gone/1');
      await store.delete('gone/1');
      await store.delete('never/1');
      assert.deepEqual(await names('gone/'), ['gone/2']);
    });

    it('lists every object whose name begins with a prefix, however many there are', async () => {
      const all = Array.from({ length: 30 }, (_, index) => `list/source.${index}.mp4`);
      for (const each of [...all, 'list/~0.0.mp4', 'list/HD_1-a.0.mp4', 'list2/1'])
        await store.put(each, Buffer.from(each));
      assert.deepEqual(await names('list/source.'), all.toSorted());
      assert.equal((await names('list/')).length, 32);
      assert.equal((await names('list')).length, 33);
      const sizes = await Array.fromAsync(store.list('list/'), ({ name: each, sizeBytes }) => each.length - sizeBytes);
      assert.ok(sizes.every((difference) => difference === 0));
    });

    it('refuses names that could lead anywhere else', async () => {
      const wrong = [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        'a/..',
        '../a',
        'a/../b',
        '.a',
        'a/.b',
        'a\\b',
        'a b',
        'ä',
        'a\0b',
        '%2e',
      ];
      for (const each of [...wrong, 'a'.repeat(101)]) {
        for (const call of [store.head(each), store.get(each), store.put(each, new Uint8Array()), store.delete(each)]) {
          await assert.rejects(call, RangeError, each);
        }
        await assert.rejects(store.putFile(each, folder), RangeError);
      }
      for (const each of ['/', '..', 'a/../', 'a//', '.a', ' ']) await assert.rejects(names(each), RangeError, each);
    });

    it('fails for a file that does not exist, and no object appears', async () => {
      await assert.rejects(store.putFile('absent/1', join(folder, 'absent')), { name: 'ObjectStoreError' });
      assert.equal(await store.head('absent/1'), undefined);
    });

    it('ends a call whose signal has aborted, with the reason of the signal', async () => {
      const reason = new Error('no longer needed');
      const call = { signal: AbortSignal.abort(reason) };
      await assert.rejects(store.put('aborted/1', Buffer.from('1'), call), reason);
      await assert.rejects(store.get('put/object.mp4', undefined, call), reason);
      await assert.rejects(Array.fromAsync(store.list('put/', call)), reason);
      assert.equal(await store.head('aborted/1'), undefined);
    });
  });
}
