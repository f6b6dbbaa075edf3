import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AssetId } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { startObjectServer } from '#test/support/object-server.ts';
import { WrittenRecording } from '#test/support/recording-folder.ts';
import {
  SOME_EXTENT,
  SOME_NODE,
  someQuotas,
  someReceipt,
  someSession,
  someStream,
  someUser,
} from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { RecordingStorage } from './recording-storage.ts';

test('files of an earlier process are looked for until the store answers, and then uploaded', async () => {
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-recording-storage-'));
  parts.defer(() => rmSync(folder, { recursive: true }));
  const store = parts.use(await openStore({ dataDir: folder, exclusive: true, logger: silentLogger }));
  const server = parts.use(await startObjectServer());
  const recording = new WrittenRecording(folder);
  recording.period();
  recording.end();
  const stream = someStream((await store.users.ensure(someUser())).id, { record: true });
  await store.streams.create(stream, someReceipt());
  const ended = { phase: 'ended', endedAt: ms(5), endReason: 'unpublished' } as const;
  const session = someSession(stream, { recordingPath: recording.path, ...ended });
  await store.sessions.create(session);
  await store.assets.finish(session.id as string as AssetId, SOME_EXTENT, ms(6));
  recording.write('manifest.json', JSON.stringify({ version: 1, sessionId: session.id }));
  let failures = 3;
  const getMany: typeof store.assets.getMany = async (...args) => {
    failures -= 1;
    if (failures >= 0) throw new Error('the store is away');
    return await store.assets.getMany(...args);
  };
  const storage = parts.use(
    await RecordingStorage.open({
      folder,
      noteFile: undefined,
      settings: { retentionDays: 0, minFreeMib: 0, whenFull: 'stop' },
      objects: server.settings,
      store: { ...store, isShared: false, assets: { ...store.assets, getMany } },
      nodeId: SOME_NODE,
      clock: systemClock,
      deletionClock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      quotas: someQuotas({}),
      onFailing: () => {},
      onOverQuota: () => {},
      onFree: () => {},
      lookAgainMs: 1,
    }),
  );
  storage.start();
  await waitFor(() => server.objects.has(`${recording.path}/index`), { what: 'the upload' });
  assert.equal(failures, -1);
});
