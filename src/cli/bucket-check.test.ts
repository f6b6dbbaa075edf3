import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openBucket } from '#objects/engines.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { startObjectServer } from '#test/support/object-server.ts';
import { someReceipt, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { bucketOrphans } from './bucket-check.ts';

test('recordings in the bucket that the store never had are found and deleted, and no others', async () => {
  await using parts = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-bucket-check-'));
  parts.defer(() => rm(dataDir, { recursive: true }));
  const store = parts.use(await openStore({ dataDir, exclusive: true, logger: silentLogger }));
  const server = parts.use(await startObjectServer());
  const bucket = parts.use((await openBucket(server.settings, systemClock))!);
  const stream = someStream((await store.users.ensure(someUser())).id, { record: true });
  await store.streams.create(stream, someReceipt());
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

  const found = await Array.fromAsync(bucketOrphans({ store, bucket, isDeleting: false }));
  assert.deepEqual(
    new Map(found.map(({ path, result }) => [path, result])),
    new Map([orphan, nameless].map((path) => [path, 'orphan'])),
  );
  const removed = await Array.fromAsync(bucketOrphans({ store, bucket, isDeleting: true }));
  assert.deepEqual(
    removed.map(({ result }) => result),
    ['removed', 'removed'],
  );
  assert.deepEqual(
    [...server.objects.keys()].sort(),
    [`${kept.path}/manifest.json`, `${deleted.path}/manifest.json`, 'something-of-others/1'].sort(),
  );
});
