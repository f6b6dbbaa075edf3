import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { newMediaPath } from '#domain/ids.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { type ObjectServer, SECRET_ACCESS_KEY, startObjectServer } from '#test/support/object-server.ts';
import { recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { StorageThread, type StorageThreadOptions } from './storage-thread.ts';

interface Fixture {
  readonly server: ObjectServer;
  readonly folder: string;
  readonly thread: StorageThread;
  /** Resolves with the next recording that is in the bucket. */
  readonly nextStored: () => Promise<string>;
}

async function setUp(t: TestContext, change: Partial<StorageThreadOptions> = {}): Promise<Fixture> {
  const server = await startObjectServer();
  const folder = recordingsFolder(t);
  let stored = Promise.withResolvers<string>();
  const secretKey = server.settings.s3SecretAccessKey?.reveal();
  const thread = new StorageThread({
    job: {
      place: { folder, noteFile: undefined },
      bucket: { ...server.settings, s3SecretAccessKey: secretKey },
      graceMs: 0,
    },
    logger: silentLogger,
    onStored: (path) => stored.resolve(path),
    onFailing: () => {},
    onWaiting: () => {},
    onLost: () => assert.fail('the thread was lost'),
    ...change,
  });
  t.after(async () => {
    await thread[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const nextStored = async () => {
    const path = await stored.promise;
    stored = Promise.withResolvers();
    return path;
  };
  return { server, folder, thread, nextStored };
}

test('a recording is uploaded by the thread as it is written, found again, and freed', async (t) => {
  const { server, folder, thread, nextStored } = await setUp(t);
  const recording = new WrittenRecording(folder);
  recording.write('manifest.json', '{"version":1,"sessionId":"the session"}');
  thread.closed(recording.path, [recording.period()]);
  recording.period();
  recording.end();
  const media = readFileSync(join(recording.folder, 'source.1.mp4'));
  thread.ended(recording.path);
  assert.equal(await nextStored(), recording.path);
  assert.deepEqual(server.objects.get(`${recording.path}/source.1.mp4`), media);
  assert.deepEqual(await thread.local(), [{ path: recording.path, sessionId: 'the session' }]);

  const other = new WrittenRecording(folder);
  other.period();
  other.end();
  thread.found(other.path);
  assert.equal(await nextStored(), other.path);
  assert.ok((await thread.makeRoom()) > 0);
  assert.ok((await thread.freeBytes())! > 0);
  await thread.free(recording.path, []);
  await thread.free(other.path, []);
  assert.equal(server.objects.size, 0);
  assert.deepEqual(await thread.local(), []);
});

test('a call that fails is rejected with the reason, which has no secret', async (t) => {
  const { server, folder, thread } = await setUp(t);
  const recording = new WrittenRecording(folder);
  server.faultOf = () => ({ type: 'refused', status: 403, code: 'AccessDenied' });
  await assert.rejects(thread.free(recording.path, []), (error: Error) => {
    assert.match(error.message, /403 AccessDenied/);
    return !error.message.includes(SECRET_ACCESS_KEY);
  });
});

test('a call that waits for the bucket neither keeps files on the disk nor keeps the thread from closing', async (t) => {
  const { server, folder, thread } = await setUp(t);
  const recording = new WrittenRecording(folder);
  recording.period();
  recording.end();
  const asked = Promise.withResolvers<void>();
  const until = Promise.withResolvers<void>();
  server.faultOf = () => {
    asked.resolve();
    return { type: 'slow', until: until.promise };
  };
  const other = new WrittenRecording(folder);
  other.period();
  const freed = assert.rejects(thread.free(recording.path, []), /closed/);
  await asked.promise;
  await thread.freeDisk(other.path, []);
  assert.deepEqual(await thread.local(), []);
  await thread[Symbol.asyncDispose]();
  await freed;
  until.resolve();
});

test('without a bucket the thread only frees, and knows the free space', async (t) => {
  const folder = recordingsFolder(t);
  const { thread } = await setUp(t, {
    job: { place: { folder, noteFile: undefined }, bucket: undefined, graceMs: undefined },
  });
  const recording = new WrittenRecording(folder);
  thread.closed(recording.path, [recording.period()]);
  recording.end();
  thread.ended(recording.path);
  assert.equal(await thread.makeRoom(), 0);
  assert.ok((await thread.freeBytes())! > 0);
  await thread.free(recording.path, []);
  assert.deepEqual(await thread.local(), []);
});

test('while the volume of recordings is not mounted, nothing counts as removed, and no recording as lost', async (t) => {
  const root = recordingsFolder(t);
  const folder = join(root, 'mounted');
  const { thread } = await setUp(t, {
    job: { place: { folder, noteFile: join(root, 'note') }, bucket: undefined, graceMs: undefined },
  });
  const { path } = new WrittenRecording(folder);
  await thread.free(newMediaPath(), []);
  renameSync(folder, join(root, 'volume'));
  mkdirSync(folder);
  await assert.rejects(thread.free(path, []), /mount its volume/);
  await assert.rejects(thread.local(), /mount its volume/);
  const left = join(root, 'volume', `.removed-${newMediaPath()}`);
  mkdirSync(left);
  rmSync(folder, { recursive: true });
  renameSync(join(root, 'volume'), folder);
  assert.deepEqual(
    (await thread.local()).map((recording) => recording.path),
    [path],
  );
  assert.ok(!existsSync(join(folder, basename(left))), 'what a killed process was removing is removed');
  await thread.free(path, []);
  assert.deepEqual(await thread.local(), []);
});

test('a thread that dies is replaced, and what it was asked is rejected', async (t) => {
  const lost = Promise.withResolvers<void>();
  const folder = recordingsFolder(t);
  // The bucket's settings lack a key, which the thread notices and the main thread would have.
  const bucket = {
    s3Url: 'http://127.0.0.1:1/b',
    s3Region: 'x',
    s3AccessKeyId: undefined,
    s3SecretAccessKey: undefined,
  };
  const { thread } = await setUp(t, {
    job: { place: { folder, noteFile: undefined }, bucket, graceMs: undefined },
    onLost: () => lost.resolve(),
  });
  await assert.rejects(thread.local(), /MILLRACE_RECORDINGS_S3_ACCESS_KEY_ID/);
  await lost.promise;
  await assert.rejects(thread.local());
});
