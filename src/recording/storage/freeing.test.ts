import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { newMediaPath } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { openBucket } from '#objects/engines.ts';
import type { ObjectStore } from '#objects/objects.ts';
import { MAX_INDEX_BYTES } from '#recording/index-file.ts';
import { readIndex } from '#recording/recording-index.ts';
import { readIndexFiles } from '#recording/recovery.ts';
import { startObjectServer } from '#test/support/object-server.ts';
import { PERIOD_MS, RECORDED_FROM_MS, recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { free } from './freeing.ts';
import { recordingsIn, removeFolder, removeLeftFolders } from './local-files.ts';
import { readStoredIndex } from './stored-index.ts';
import { unneededVolumes } from './unneeded-volumes.ts';

const minutes = (from: number, until: number) => ({
  fromMs: RECORDED_FROM_MS + from * PERIOD_MS,
  untilMs: RECORDED_FROM_MS + until * PERIOD_MS,
});

async function setUp(t: TestContext) {
  const server = await startObjectServer();
  const folder = recordingsFolder(t);
  const bucket = (await openBucket(server.settings, systemClock))!;
  t.after(async () => {
    await bucket[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const recording = new WrittenRecording(folder);
  for (let period = 0; period < 8; period += 1) recording.period();
  const upload = async () => {
    for (const name of recording.names) await bucket.putFile(`${recording.path}/${name}`, join(recording.folder, name));
  };
  return { server, folder, bucket, recording, upload };
}

test('a deleted recording is gone from this machine and from the bucket, and others stay', async (t) => {
  const { server, folder, bucket, recording, upload } = await setUp(t);
  await upload();
  const other = new WrittenRecording(folder);
  await bucket.put(`${other.path}/manifest.json`, Buffer.from('{}'));
  for (let round = 0; round < 2; round += 1) await free({ folder, bucket }, recording.path, []);
  assert.deepEqual(readdirSync(folder), [other.path]);
  assert.deepEqual([...server.objects.keys()], [`${other.path}/manifest.json`]);
});

test('without a bucket, only the folder is deleted', async (t) => {
  const { folder, recording } = await setUp(t);
  await free({ folder, bucket: undefined }, recording.path, []);
  assert.equal(existsSync(recording.folder), false);
});

for (const from of ['this machine', 'the bucket'] as const) {
  test(`clips keep the volumes that they show, by the index on ${from}`, async (t) => {
    const { server, folder, bucket, recording, upload } = await setUp(t);
    if (from === 'the bucket') recording.end();
    await upload();
    if (from === 'the bucket') rmSync(recording.folder, { recursive: true });
    const before = [...server.objects.keys()];
    const media = new Set(before.filter((name) => name.endsWith('.mp4')));
    await free({ folder, bucket }, recording.path, [minutes(3.2, 3.8), minutes(6.9, 7.1)]);
    const kept = ['source', 'audio'].flatMap((id) =>
      [2, 3, 4, 5, 6, 7].map((at) => `${recording.path}/${id}.${at}.mp4`),
    );
    const expected = [...before.filter((name) => !media.has(name)), ...kept].sort();
    assert.deepEqual([...server.objects.keys()].sort(), expected);
    if (from === 'this machine') assert.equal(recording.names.filter((name) => name.endsWith('.mp4')).length, 12);
    await free({ folder, bucket }, recording.path, []);
    assert.equal(server.objects.size, 0);
  });
}

test('a volume that clips may need stays in the bucket although its index has not been uploaded yet', async (t) => {
  const { server, folder, bucket, recording, upload } = await setUp(t);
  await upload();
  rmSync(recording.folder, { recursive: true });
  for (const period of [6, 7]) server.objects.delete(`${recording.path}/index.${period}`);
  await free({ folder, bucket }, recording.path, [minutes(6.5, 6.6)]);
  const volumes = [...server.objects.keys()].flatMap((name) => /source\.(\d)\.mp4$/.exec(name)?.[1] ?? []);
  assert.deepEqual(volumes, ['5', '6', '7']);
});

test('without an index nothing is deleted of a recording that clips need', async (t) => {
  const { folder, bucket, recording } = await setUp(t);
  for (let period = 0; period < 8; period += 1) rmSync(join(recording.folder, `index.${period}`));
  const { names } = recording;
  await assert.rejects(free({ folder, bucket }, recording.path, [minutes(1, 2)]), /no index/);
  assert.deepEqual(recording.names, names);
});

test('a recording on another machine needs nothing to be deleted here', async (t) => {
  const { folder } = await setUp(t);
  for (const spans of [[], [minutes(1, 2)]]) await free({ folder, bucket: undefined }, newMediaPath(), spans);
});

test('a deletion that the bucket interrupts is an error, and is finished by the next one', async (t) => {
  const { server, folder, bucket, recording, upload } = await setUp(t);
  await upload();
  let left = 5;
  server.faultOf = ({ method }) =>
    method === 'DELETE' && left-- <= 0 ? { type: 'refused', status: 503, code: 'SlowDown' } : undefined;
  await assert.rejects(free({ folder, bucket }, recording.path, []), { name: 'ObjectStoreError', isTemporary: true });
  assert.ok(server.objects.size > 0);
  server.faultOf = () => undefined;
  await free({ folder, bucket }, recording.path, []);
  assert.equal(server.objects.size, 0);
});

test('the volumes that are kept have every segment of the span in every rendition, and one on either side', async (t) => {
  const { recording } = await setUp(t);
  const index = readIndex(readIndexFiles(recording.folder));
  fc.assert(
    fc.property(fc.integer({ min: -1, max: 7 }), fc.integer({ min: 0, max: 5 }), (from, length) => {
      const unneeded = unneededVolumes(index, [minutes(from + 0.5, from + 0.5 + length)]);
      for (let volume = 0; volume < 8; volume += 1) {
        const isShown = volume >= from && volume <= from + length;
        if (isShown) for (const id of ['source', 'audio']) assert.ok(!unneeded.has(`${id}.${volume}.mp4`));
        if (volume < from - 1 || volume > from + length + 1) assert.ok(unneeded.has(`source.${volume}.mp4`));
      }
    }),
  );
  assert.equal(unneededVolumes(index, []).size, 16);
});

test('a recording whose machine died is opened by the index files that reached the bucket, up to the first that did not', async (t) => {
  const { server, bucket, recording, upload } = await setUp(t);
  await upload();
  server.objects.set(`${recording.path}/index.5.mp4`, Buffer.from('a volume of a rendition named index'));
  assert.equal((await readStoredIndex(bucket, recording.path)).length, 8);
  server.objects.delete(`${recording.path}/index.6`);
  const index = readIndex(await readStoredIndex(bucket, recording.path));
  assert.deepEqual([index.hasEnded, index.lastNumber], [false, 5]);
  assert.deepEqual(await readStoredIndex(bucket, 'nothing'), []);
});

test('a long index is read in pieces, and one that is larger than readers take is refused', async (t) => {
  const { server, bucket, recording } = await setUp(t);
  const index = Buffer.alloc(33 * 1024 * 1024, 'records ');
  server.objects.set(`${recording.path}/index`, index);
  const [read, ...others] = await readStoredIndex(bucket, recording.path);
  assert.equal(others.length, 0);
  assert.equal(Buffer.compare(read!, index), 0);
  assert.equal(server.requests.filter(({ method }) => method === 'GET').length, 3);
  const head = async (name: string) => ({ name, sizeBytes: MAX_INDEX_BYTES + 1 });
  const huge = { head, get: () => assert.fail('it is not read') } as Partial<ObjectStore> as ObjectStore;
  await assert.rejects(readStoredIndex(huge, recording.path), { name: 'ObjectStoreError' });
});

test('a folder is removed as a whole, and what a killed process has left of one is found', async (t) => {
  const { folder, recording } = await setUp(t);
  const other = new WrittenRecording(folder);
  renameSync(recording.folder, join(folder, `.removed-${recording.path}`));
  assert.deepEqual(recordingsIn(folder), [other.path]);
  removeLeftFolders(folder);
  assert.deepEqual(readdirSync(folder), [other.path]);
  // A process was killed while it removed a folder of the same name.
  mkdirSync(join(folder, `.removed-${other.path}`, 'rest'), { recursive: true });
  removeFolder(other.folder);
  removeFolder(other.folder);
  assert.deepEqual(readdirSync(folder), []);
});
