import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFolder } from '#objects/engines.ts';

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-folder-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return { folder, store: openFolder(folder) };
}

test('a file that is already at its place is left as it is', async (t) => {
  const { folder, store } = setUp(t);
  mkdirSync(join(folder, 'a'));
  const path = join(folder, 'a', 'source.0.mp4');
  writeFileSync(path, '12345');
  const before = statSync(path);
  await store.putFile('a/source.0.mp4', path);
  symlinkSync(folder, join(folder, 'link'));
  await store.putFile('a/source.0.mp4', join(folder, 'link', 'a', 'source.0.mp4'));
  const after = statSync(path);
  assert.deepEqual([after.ino, after.mtimeMs, after.size], [before.ino, before.mtimeMs, 5]);
});

test('nothing is left of a write that failed, and a list does not show what is being written', async (t) => {
  const { folder, store } = setUp(t);
  await assert.rejects(store.putFile('a/1', join(folder, 'absent')), { isTemporary: true });
  assert.deepEqual(readdirSync(join(folder, 'a')), []);
  writeFileSync(join(folder, 'a', '.1-1.tmp'), 'half');
  await store.put('a/2', Buffer.from('2'));
  assert.deepEqual(await Array.fromAsync(store.list('a/')), [{ name: 'a/2', sizeBytes: 1 }]);
});

test('a name that is a folder is an error that no repetition mends', async (t) => {
  const { store } = setUp(t);
  await store.put('a/b/1', Buffer.from('1'));
  await assert.rejects(store.put('a/b', Buffer.from('2')), { name: 'ObjectStoreError', isTemporary: false });
  assert.equal(await store.head('a/b'), undefined);
  assert.equal(await store.get('a/b'), undefined);
});

test('the files and folders are readable by their owner only', async (t) => {
  const { folder, store } = setUp(t);
  await store.put('a/1', Buffer.from('1'));
  const modes = ['a', 'a/1'].map((name) => statSync(join(folder, name)).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o600]);
});
