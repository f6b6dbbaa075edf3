import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type MediaPath, newMediaPath, newSessionId, newUserId, type SessionId } from '#domain/ids.ts';
import type { Session } from '#domain/session.ts';
import { ms } from '#lib/units.ts';
import { FileRecorders } from '#recording/recorders.ts';
import { readIndexOf } from '#recording/recovery.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { audioTrack, Feed, videoTrack } from '#test/support/hls-feed.ts';
import { RECORDERS } from '#test/support/recording-studio.ts';
import { someReceipt, someSession, someStream, someUser } from '#test/support/sample-records.ts';
import { CommandLines } from './command-line.ts';
import { storeFolder } from './millrace.ts';

const commandLines = new CommandLines();
const { run } = commandLines;
after(() => commandLines[Symbol.asyncDispose]());

/** Records some seconds into a folder, as the server does. */
async function record(folder: string, { id, path }: { readonly id: SessionId; readonly path: MediaPath }) {
  await using recorders = new FileRecorders({ folder, ...RECORDERS });
  const epoch = ms(1_790_000_000_000);
  const recorder = recorders.begin({
    sessionId: id,
    userId: newUserId(),
    path,
    epoch,
    targetDurationS: 4,
    isContinued: false,
    warn: () => {},
  });
  const feed = new Feed({
    video: videoTrack(),
    audio: audioTrack(),
    beforeTracks: (presentation) => presentation.attach(recorder),
  });
  feed.play(21);
  await feed.session.end();
  return await recorder.end();
}

/** A data folder with a stream, and the means to work on it. */
async function place(t: TestContext) {
  const dataDir = await storeFolder(t);
  const folder = join(dataDir, 'recordings');
  const inStore = async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
    await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
    return await work(store);
  };
  const user = someUser();
  const stream = someStream(user.id, { record: true, name: 'the show' });
  await inStore(async (store) => {
    await store.users.ensure(user);
    await store.streams.create(stream, someReceipt());
  });
  const recorded = async (change: Partial<Session> = {}): Promise<Session> => {
    const ended = { phase: 'ended', endedAt: ms(1_790_000_021_000), endReason: 'unpublished' } as const;
    const session = someSession(stream, { ...ended, ...change });
    const extent = await record(folder, { id: session.id, path: session.recordingPath! });
    await inStore(async (store) => {
      await store.sessions.create(session);
      if (session.phase === 'ended') await store.assets.finish(session.id as never, extent, ms(1_790_000_022_000));
    });
    return session;
  };
  const millrace = (...args: string[]) => run(['recordings', ...args], { settings: { DATA_DIR: dataDir } });
  return { dataDir, folder, stream, inStore, recorded, millrace };
}

/** The content of an index that a rebuilt one must have as well. */
const essence = (folder: string) =>
  readIndexOf(folder)!.renditions.map(({ id, data, segments }) => ({
    id,
    inits: data.inits,
    sizeBytes: data.sizeBytes,
    samples: data.samples,
    segments: Array.from({ length: segments.count }, (_, at) => {
      const { durationS, startS, ...rest } = segments.at(at)!;
      return { ...rest, startS: startS.toFixed(2), durationS: durationS.toFixed(1) };
    }),
  }));

test('recordings are listed and deleted, but not while they run', async (t) => {
  const { recorded, inStore, millrace } = await place(t);
  const [ended, running] = [
    await recorded(),
    await recorded({ phase: 'live', endedAt: undefined, endReason: undefined }),
  ];
  const { stdout } = await millrace('list');
  assert.match(stdout, /^ID +KIND +NAME +CREATED +SECONDS +MB +STATE +FOLDER\n/);
  assert.match(
    stdout,
    new RegExp(`^${ended.id} +recording +the show +\\S+Z +2\\d\\.\\d +\\d+\\.\\d +ready +${ended.recordingPath}$`, 'm'),
  );
  assert.match(stdout, new RegExp(`^${running.id} .* recording +${running.recordingPath}$`, 'm'));
  assert.equal((await millrace('rm', ended.id)).stdout, `Deleted ${ended.id}.\n`);
  const [again, refused] = [await millrace('rm', ended.id), await millrace('rm', running.id)];
  assert.deepEqual([again.code, refused.code], [1, 1]);
  assert.match(refused.stderr, /is still running/);
  const phases = await inStore((store) => store.assets.getMany([ended.id, running.id] as never, 'all'));
  assert.deepEqual(phases.map(({ phase }) => phase).toSorted(), ['deleting', 'recording']);
});

test('a lost or truncated index is rebuilt from the volumes, the same as before', async (t) => {
  const { folder, recorded, millrace } = await place(t);
  const [lost, cut, whole, running] = [
    await recorded(),
    await recorded(),
    await recorded(),
    await recorded({ phase: 'live', endedAt: undefined, endReason: undefined }),
  ];
  const folderOf = ({ recordingPath }: Session) => join(folder, recordingPath!);
  const before = [essence(folderOf(lost)), essence(folderOf(cut))];
  for (const session of [lost, running]) rmSync(join(folderOf(session), 'index'));
  truncateSync(join(folderOf(cut), 'index'), 5000);
  const untouched = readFileSync(join(folderOf(whole), 'index'));
  const { code, stdout, stderr } = await millrace('check');
  assert.equal(code, 0, stderr);
  for (const session of [lost, cut])
    assert.match(stdout, new RegExp(`${session.recordingPath} \\(.*\\): its index was lost`));
  assert.match(stdout, new RegExp(`${running.recordingPath} \\(.*\\): is being recorded`));
  assert.match(stdout, /^Checked 4 recordings in .*; 1 are complete\.$/m);
  assert.deepEqual([essence(folderOf(lost)), essence(folderOf(cut))], before);
  assert.deepEqual(readFileSync(join(folderOf(whole), 'index')), untouched);
  assert.ok(!existsSync(join(folderOf(running), 'index')));
  assert.match((await millrace('check')).stdout, /; 3 are complete\.$/m);
});

test('a recording whose folder or volumes are gone is named, with an exit code', async (t) => {
  const { folder, recorded, millrace } = await place(t);
  const [gone, damaged] = [await recorded(), await recorded()];
  rmSync(join(folder, gone.recordingPath!), { recursive: true });
  rmSync(join(folder, damaged.recordingPath!, 'source.1.mp4'));
  const { code, stdout } = await millrace('check');
  assert.equal(code, 1);
  assert.match(stdout, new RegExp(`${gone.recordingPath} .*its folder is gone`));
  assert.match(stdout, new RegExp(`${damaged.recordingPath} .*missing or damaged`));
});

test('a deleted recording of which only what clips show is left is not damaged', async (t) => {
  const { folder, recorded, millrace } = await place(t);
  const session = await recorded();
  await millrace('rm', session.id);
  rmSync(join(folder, session.recordingPath!, 'source.1.mp4'));
  const { code, stdout } = await millrace('check');
  assert.equal(code, 0, stdout);
  assert.match(stdout, new RegExp(`${session.recordingPath} .*was deleted`));
});

test('folders that the store does not know are deleted when they are old, or added to a stream from the volumes alone', async (t) => {
  const { folder, stream, inStore, millrace } = await place(t);
  const [old, young] = [newMediaPath(), newMediaPath()];
  const id = newSessionId();
  const extent = await record(folder, { id, path: young });
  await record(folder, { id: newSessionId(), path: old });
  const longAgo = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(join(folder, old), longAgo, longAgo);
  assert.match((await millrace('check')).stdout, new RegExp(`${old}: the store does not have it`));
  assert.match((await millrace('check', '--delete')).stdout, new RegExp(`${old}: .*deleted`));
  assert.deepEqual(readdirSync(folder), [young]);

  const before = readdirSync(join(folder, young));
  assert.match((await millrace('check', '--adopt', stream.id)).stdout, new RegExp(`${young}: the store does not have`));
  assert.deepEqual(readdirSync(join(folder, young)), before, 'a server may still be writing it');
  rmSync(join(folder, young, 'index'));
  const aWhileAgo = new Date(Date.now() - 10 * 60_000);
  utimesSync(join(folder, young), aWhileAgo, aWhileAgo);
  const { code, stdout, stderr } = await millrace('check', '--adopt', stream.id);
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`${young} \\(${id}\\): .*added`));
  const asset = await inStore((store) => store.assets.get(id as never, stream.userId));
  assert.deepEqual([asset?.phase, asset?.path, asset?.sizeBytes], ['ready', young, extent.sizeBytes]);
  assert.deepEqual(
    asset?.tracks.map(({ rendition, codec }) => [rendition, codec]),
    [
      ['source', 'h264'],
      ['audio', 'aac'],
    ],
  );
  const session = await inStore((store) => store.sessions.get(id, stream.userId));
  assert.deepEqual([session?.phase, session?.recordingPath, session?.streamId], ['ended', young, stream.id]);
  const { rows: entries } = await inStore((store) => store.audit.list({ resourceId: id }, { limit: 10 }));
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor]),
    [['asset.adopted', undefined]],
  );
  assert.match((await millrace('check')).stdout, /Checked 1 recordings .*; 1 are complete/);
});

test('wrong arguments are refused', async (t) => {
  const { millrace } = await place(t);
  for (const args of [
    [],
    ['list', 'x'],
    ['rm'],
    ['check', 'x'],
    ['check', '--adopt', 'x'],
    ['check', '--delete', '--adopt', newSessionId()],
  ]) {
    assert.equal((await millrace(...args)).code, 2, args.join(' '));
  }
  assert.equal((await millrace('rm', '../x')).code, 1);
  assert.equal((await millrace('check', '--adopt', newSessionId())).code, 1);
  assert.match((await millrace('check')).stdout, /^Checked 0 recordings/);
});
