import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AssetId, newMediaPath, newNodeId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openBucket } from '#objects/engines.ts';
import { readIndex } from '#recording/recording-index.ts';
import { readStoredIndex } from '#recording/storage/stored-index.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { startObjectServer } from '#test/support/object-server.ts';
import { PERIOD_MS, RECORDED_FROM_MS, WrittenRecording } from '#test/support/recording-folder.ts';
import { SOME_NODE, someReceipt, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { bucketOrphans } from './bucket-check.ts';

async function setUp(parts: AsyncDisposableStack) {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-bucket-check-'));
  parts.defer(() => rm(dataDir, { recursive: true }));
  const store = parts.use(await openStore({ dataDir, exclusive: true, logger: silentLogger }));
  const server = parts.use(await startObjectServer());
  const bucket = parts.use((await openBucket(server.settings, systemClock))!);
  const stream = someStream((await store.users.ensure(someUser())).id, { record: true });
  await store.streams.create(stream, someReceipt());
  const check = (orphans: 'keep' | 'delete' | Stream) =>
    Array.fromAsync(bucketOrphans({ store, bucket, nodeId: SOME_NODE, now: ms(7), orphans }));
  return { dataDir, store, server, bucket, stream, check };
}

test('recordings in the bucket that the store never had are found and deleted, and no others', async () => {
  await using parts = new AsyncDisposableStack();
  const { store, server, bucket, stream, check } = await setUp(parts);
  const recorded = async () => {
    const session = someSession(stream, { phase: 'ended', endedAt: ms(5), endReason: 'unpublished' });
    await store.sessions.create({ ...session, recordingPath: newMediaPath() });
    const { rows } = await store.assets.list('everyone', {
      limit: 100,
      order: 'createdAt',
      direction: 'desc',
      filter: { sessionId: session.id },
    });
    return rows[0]!;
  };
  const [kept, deleted] = [await recorded(), await recorded()];
  await store.assets.expire(deleted.id, ms(6));
  const [orphan, nameless] = [newMediaPath(), newMediaPath()];
  const put = (path: string, sessionId: string) =>
    bucket.put(`${path}/manifest.json`, Buffer.from(JSON.stringify({ sessionId })));
  await put(kept.path, kept.id);
  await put(deleted.path, deleted.id);
  await put(orphan, '0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20');
  for (let at = 0; at < 20; at += 1) await bucket.put(`${nameless}/source.${at}.mp4`, Buffer.from('media'));
  await bucket.put('something-of-others/1', Buffer.from('kept'));

  const found = await check('keep');
  assert.deepEqual(
    new Map(found.map(({ path, result }) => [path, result])),
    new Map([orphan, nameless].map((path) => [path, 'orphan'])),
  );
  const read = server.requests.filter(({ method, name }) => method === 'GET' && name !== '').map(({ name }) => name);
  assert.ok(read.includes(`${orphan}/manifest.json`));
  assert.ok(!read.includes(`${kept.path}/manifest.json`), 'a known recording costs no request');
  const removed = await check('delete');
  assert.deepEqual(
    removed.map(({ result }) => result),
    ['removed', 'removed'],
  );
  assert.deepEqual(
    [...server.objects.keys()].sort(),
    [`${kept.path}/manifest.json`, `${deleted.path}/manifest.json`, 'something-of-others/1'].sort(),
  );
});

test('recordings in the bucket that the store lost are added to a stream, also one whose machine died before its end', async () => {
  await using parts = new AsyncDisposableStack();
  const { dataDir, store, bucket, stream, check } = await setUp(parts);
  const upload = async ({ path, folder, names }: WrittenRecording) => {
    for (const name of names) await bucket.put(`${path}/${name}`, readFileSync(join(folder, name)));
  };
  const id = '0190d2f0-1f6e-7c3a-9a51-3c2f6a1b7e20' as AssetId;
  const [ended, cut, empty] = [1, 2, 3].map(() => new WrittenRecording(dataDir)) as [
    WrittenRecording,
    WrittenRecording,
    WrittenRecording,
  ];
  ended.write('manifest.json', JSON.stringify({ version: 1, sessionId: id }));
  for (const recording of [ended, cut]) for (const _ of [0, 1]) recording.period();
  ended.end();
  for (const recording of [ended, cut, empty]) await upload(recording);
  const found = await check(stream);
  assert.deepEqual(
    new Map(found.map(({ path, result }) => [path, result])),
    new Map([
      [ended.path, 'adopted'],
      [cut.path, 'adopted'],
      [empty.path, 'unreadable'],
    ]),
  );
  assert.equal((await store.assets.byPath(ended.path))?.asset.id, id);
  for (const { path } of [ended, cut]) {
    const { asset } = (await store.assets.byPath(path))!;
    const { streamId, phase, isStored, durationS, fromMs } = asset;
    assert.deepEqual([streamId, phase, isStored, durationS], [stream.id, 'ready', true, (2 * PERIOD_MS) / 1000]);
    assert.equal(fromMs, RECORDED_FROM_MS);
    const index = readIndex(await readStoredIndex(bucket, path));
    assert.deepEqual([index.hasEnded, index.leader?.segments.count], [true, 2]);
  }
  assert.deepEqual(
    (await check('keep')).map(({ path }) => path),
    [empty.path],
  );
});

test('a recording is added again although the store still has its session, of another node', async () => {
  await using parts = new AsyncDisposableStack();
  const { dataDir, store, bucket, stream, check } = await setUp(parts);
  const upload = async ({ path, folder, names }: WrittenRecording) => {
    for (const name of names) await bucket.put(`${path}/${name}`, readFileSync(join(folder, name)));
  };
  const [again, other] = [new WrittenRecording(dataDir), new WrittenRecording(dataDir)];
  const ids: string[] = [];
  for (const [recording, recordingPath] of [
    [again, again.path],
    [other, newMediaPath()],
  ] as const) {
    const ended = { phase: 'ended', endedAt: ms(5), endReason: 'unpublished', recordingPath } as const;
    const session = someSession(stream, { ...ended, nodeId: newNodeId() });
    await store.sessions.create(session);
    ids.push(session.id);
    const id = session.id as string as AssetId;
    await store.assets.finish(id, { fromMs: ms(1), untilMs: ms(5), durationS: 4, sizeBytes: 1, tracks: [] }, ms(5));
    await store.assets.expire(id, ms(6));
    await store.assets.deleted(id);
    recording.write('manifest.json', JSON.stringify({ version: 1, sessionId: session.id }));
    recording.period();
    recording.end();
    await upload(recording);
  }
  assert.equal(await store.assets.forget(ms(Date.now() + 1000), 10), 2);
  assert.deepEqual(
    new Map((await check(stream)).map(({ path, result }) => [path, result])),
    new Map([
      [again.path, 'adopted'],
      [other.path, 'orphan'],
    ]),
  );
  const { asset } = (await store.assets.byPath(again.path))!;
  assert.deepEqual([asset.id, asset.phase, asset.isStored, asset.durationS], [ids[0], 'ready', true, PERIOD_MS / 1000]);
  const { rows } = await store.audit.list({ resourceId: ids[0]! }, { limit: 10 });
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['asset.adopted'],
  );
  assert.equal(await store.assets.get(ids[1] as AssetId, 'everyone'), undefined);
});
