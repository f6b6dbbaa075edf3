import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MINUTE_MS } from '#lib/units.ts';
import { openBucket } from '#objects/engines.ts';
import { type Fault, type ObjectServer, startObjectServer } from '#test/support/object-server.ts';
import { recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { SteppedTime } from '#test/support/stepped-time.ts';
import { Uploader } from './uploader.ts';

const GRACE_MS = 10 * MINUTE_MS;

interface Told {
  stored: string[];
  failing: (string | undefined)[];
  waitingFiles: number;
}

interface Fixture {
  readonly server: ObjectServer;
  readonly folder: string;
  readonly time: SteppedTime;
  readonly told: Told;
  readonly uploader: Uploader;
  /** A process that is started after this one was killed. */
  readonly restart: () => Promise<Uploader>;
  readonly advance: (durationMs: number) => Promise<void>;
}

async function setUp(t: TestContext): Promise<Fixture> {
  const time = new SteppedTime();
  const server = await startObjectServer(() => time.clock.now());
  t.after(() => server[Symbol.asyncDispose]());
  const folder = recordingsFolder(t);
  const told: Told = { stored: [], failing: [], waitingFiles: 0 };
  const listener = {
    stored: (path: string) => told.stored.push(path),
    failing: (reason: string | undefined) => told.failing.push(reason),
    waiting: (files: number) => {
      told.waitingFiles = files;
    },
  };
  const start = async () => {
    const bucket = (await openBucket(server.settings, time.clock))!;
    t.after(() => bucket[Symbol.asyncDispose]());
    const { clock, later } = time;
    return new Uploader({ folder, bucket, clock, later, listener, random: () => 1 });
  };
  let uploader = await start();
  t.after(() => uploader[Symbol.asyncDispose]());
  return {
    server,
    folder,
    time,
    told,
    get uploader() {
      return uploader;
    },
    async restart() {
      await uploader[Symbol.asyncDispose]();
      uploader = await start();
      return uploader;
    },
    advance: (durationMs) => time.advance(durationMs, () => uploader.idle()),
  };
}

const ofMethod = (server: ObjectServer, method: string) =>
  server.requests.filter((request) => request.method === method).map(({ name }) => name);

function assertUploaded(server: ObjectServer, recording: WrittenRecording, names: readonly string[]): void {
  const keys = [...server.objects.keys()].filter((key) => key.startsWith(recording.path)).sort();
  assert.deepEqual(keys, names.map((name) => `${recording.path}/${name}`).sort());
}

test('closed periods go to the bucket while the recording runs, volumes before the index files that name them', async (t) => {
  const { server, folder, uploader } = await setUp(t);
  const recording = new WrittenRecording(folder);
  uploader.closed(recording.path, []);
  for (const _ of [0, 1]) uploader.closed(recording.path, [recording.period()]);
  recording.period();
  await uploader.idle();
  const names = ['manifest.json', 'index.0', 'index.1', 'source.0.mp4', 'audio.0.mp4', 'source.1.mp4', 'audio.1.mp4'];
  assertUploaded(server, recording, names);
  const puts = ofMethod(server, 'PUT').map((name) => name.split('/')[1]!);
  for (const period of [0, 1]) {
    const needed = ['manifest.json', `source.${period}.mp4`, `audio.${period}.mp4`];
    for (const name of needed) assert.ok(puts.indexOf(name) < puts.indexOf(`index.${period}`), puts.join(' '));
  }
  assert.equal(puts.length, names.length, 'each once');
  assert.ok(server.mostAtOnce <= 4);
});

test('a recording that has ended is complete in the bucket with one index, and its folder goes once that is noted', async (t) => {
  const { server, folder, uploader, told, advance } = await setUp(t);
  const recording = new WrittenRecording(folder);
  uploader.closed(recording.path, [recording.period()]);
  await uploader.idle();
  recording.period();
  recording.write('pictures', 'a picture');
  const media = readFileSync(join(recording.folder, 'source.1.mp4'));
  recording.end();
  uploader.ended(recording.path);
  await uploader.idle();
  assertUploaded(server, recording, recording.names);
  assert.deepEqual(server.objects.get(`${recording.path}/source.1.mp4`), media);
  assert.equal(ofMethod(server, 'PUT').at(-1), `${recording.path}/index`);
  assert.deepEqual(told.stored, [recording.path]);

  await advance(GRACE_MS + MINUTE_MS);
  assert.deepEqual(recording.names, ['index', 'manifest.json', 'pictures'], 'it is not noted yet');
  uploader.noted(recording.path);
  await advance(MINUTE_MS);
  assert.equal(existsSync(recording.folder), false);
});

test('local bytes stay until the bucket has confirmed them and the time of grace is over', async (t) => {
  const { server, folder, uploader, advance } = await setUp(t);
  const recording = new WrittenRecording(folder);
  // The bucket keeps one volume a byte too short, whenever it is put.
  server.faultOf = ({ method, name }) =>
    method === 'PUT' && name.endsWith('source.0.mp4') ? { type: 'wrong_length' } : undefined;
  uploader.closed(recording.path, [recording.period()]);
  await advance(GRACE_MS - MINUTE_MS);
  assert.ok(recording.names.includes('audio.0.mp4'), 'the time of grace is not over');
  await advance(3 * GRACE_MS);
  assert.deepEqual(recording.names, ['index.0', 'manifest.json', 'source.0.mp4']);
  assert.ok(!server.objects.has(`${recording.path}/index.0`), 'its index would name a volume that is not there');
  server.faultOf = () => undefined;
  await advance(2 * GRACE_MS);
  assert.deepEqual(recording.names, ['index.0', 'manifest.json']);
  assert.ok(server.objects.has(`${recording.path}/index.0`));
});

test('makeRoom removes what the bucket has without waiting, and nothing else', async (t) => {
  const { server, folder, uploader } = await setUp(t);
  const recording = new WrittenRecording(folder);
  const broken: Fault = { type: 'refused', status: 500, code: 'InternalError' };
  uploader.closed(recording.path, [recording.period()]);
  await uploader.idle();
  server.faultOf = () => broken;
  uploader.closed(recording.path, [recording.period()]);
  await uploader.idle();
  assert.equal(uploader.makeRoom(), 2000);
  assert.deepEqual(recording.names, ['audio.1.mp4', 'index.0', 'index.1', 'manifest.json', 'source.1.mp4']);
  assert.equal(uploader.makeRoom(), 0);
});

test('a bucket that is away for an hour costs nothing but time, and few requests', async (t) => {
  const { server, folder, uploader, told, advance } = await setUp(t);
  const recordings = Array.from({ length: 4 }, () => new WrittenRecording(folder, ['source']));
  server.faultOf = () => ({ type: 'refused', status: 503, code: 'SlowDown' });
  for (let minute = 0; minute < 60; minute += 1) {
    for (const recording of recordings) uploader.closed(recording.path, [recording.period()]);
    await advance(MINUTE_MS);
  }
  // 1 + 2 + 4 + ... + 256 s, and then one every five minutes.
  assert.ok(server.requests.length <= 30, `${server.requests.length} requests`);
  assert.equal(told.failing.length, 1);
  assert.match(told.failing[0]!, /: 503/);
  assert.equal(
    recordings.every(({ names }) => names.length === 1 + 2 * 60),
    true,
  );
  assert.ok(told.waitingFiles >= 4 * 60);

  server.faultOf = () => undefined;
  await advance(6 * MINUTE_MS);
  for (const recording of recordings) assertUploaded(server, recording, recording.names);
  assert.deepEqual(told.failing.slice(1), [undefined]);
  assert.equal(told.waitingFiles, 0);
  assert.ok(server.mostAtOnce <= 4);
  await advance(GRACE_MS + MINUTE_MS);
  assert.ok(recordings.every(({ names }) => names.every((name) => !name.endsWith('.mp4'))));
});

test('whatever goes wrong on the way, every file is in the bucket in the end, with the right bytes', async (t) => {
  const { server, folder, uploader, told, advance } = await setUp(t);
  const faults: Fault[] = [
    { type: 'refused', status: 500, code: 'InternalError' },
    { type: 'refused', status: 403, code: 'AccessDenied' },
    { type: 'cut_request' },
    { type: 'cut_answer' },
    { type: 'lost_answer' },
    { type: 'wrong_length' },
    { type: 'answer', status: 200, text: '<html>a captive portal</html>' },
  ];
  let state = 1;
  server.faultOf = () => {
    state = (state * 48_271) % 2_147_483_647;
    return faults[state % (2 * faults.length)];
  };
  const recordings = Array.from({ length: 3 }, () => new WrittenRecording(folder));
  for (const recording of recordings) {
    for (const _ of [0, 1, 2]) uploader.closed(recording.path, [recording.period(50_000)]);
    await advance(MINUTE_MS);
    recording.end();
    uploader.ended(recording.path);
  }
  const content = new Map(
    recordings.flatMap(({ path, folder: own, names }) =>
      names.map((name) => [`${path}/${name}`, readFileSync(join(own, name))] as const),
    ),
  );
  for (let step = 0; step < 100 && told.stored.length < 3; step += 1) await advance(MINUTE_MS);
  assert.deepEqual(told.stored.toSorted(), recordings.map(({ path }) => path).sort());
  for (const [name, bytes] of content) assert.deepEqual(server.objects.get(name), bytes, name);
});

test('after a restart the bucket is asked first, and only what it does not have is put', async (t) => {
  const { server, folder, uploader, told, restart } = await setUp(t);
  const recording = new WrittenRecording(folder);
  uploader.closed(recording.path, [recording.period(), recording.period()]);
  await uploader.idle();
  recording.end();
  server.objects.delete(`${recording.path}/audio.1.mp4`);
  server.objects.set(`${recording.path}/source.1.mp4`, Buffer.from('half of it'));
  server.requests.length = 0;
  const next = await restart();
  next.found(recording.path);
  await next.idle();
  assert.deepEqual(
    ofMethod(server, 'PUT').map((name) => name.split('/')[1]),
    ['audio.1.mp4', 'source.1.mp4', 'index'],
  );
  assertUploaded(server, recording, recording.names);
  assert.deepEqual(told.stored, [recording.path]);
});

test('a recording that was found without its end waits for the writer, which goes on with it or ends it', async (t) => {
  const { server, folder, uploader } = await setUp(t);
  const recording = new WrittenRecording(folder);
  recording.period();
  uploader.found(recording.path);
  await uploader.idle();
  assert.equal(server.requests.length, 0);
  uploader.closed(recording.path, [0]);
  await uploader.idle();
  assertUploaded(server, recording, ['manifest.json', 'index.0', 'source.0.mp4', 'audio.0.mp4']);
});

test('a recording that had ended before a restart goes to the bucket as a whole, although its session goes on', async (t) => {
  const { server, folder, uploader, told } = await setUp(t);
  const recording = new WrittenRecording(folder);
  recording.period();
  recording.end();
  uploader.found(recording.path);
  uploader.closed(recording.path, [0]);
  await uploader.idle();
  assertUploaded(server, recording, recording.names);
  assert.deepEqual(told.stored, [recording.path]);
});

test('a recording that is forgotten is not uploaded any further, and forgetting waits for what is in progress', async (t) => {
  const { server, folder, uploader } = await setUp(t);
  const recording = new WrittenRecording(folder);
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  server.faultOf = () => {
    asked.resolve();
    return { type: 'slow', until: promise };
  };
  uploader.closed(recording.path, [recording.period()]);
  await asked.promise;
  await uploader.forget(recording.path);
  const before = server.requests.length;
  resolve();
  server.faultOf = () => undefined;
  await uploader.idle();
  assert.equal(server.requests.length, before);
});

test('a disk that fails is reported, and uploads go on once it works', async (t) => {
  const { server, folder, uploader, told, advance } = await setUp(t);
  const recording = new WrittenRecording(folder);
  uploader.closed(recording.path, [recording.period()]);
  await uploader.idle();
  const sick = new WrittenRecording(folder);
  const period = sick.period();
  server.faultOf = ({ name }) => (name.startsWith(sick.path) ? { type: 'cut_request' } : undefined);
  uploader.closed(sick.path, [period]);
  await advance(MINUTE_MS);
  assert.match(told.failing[0]!, /^(PUT|HEAD) /);
  server.faultOf = () => undefined;
  await advance(5 * MINUTE_MS);
  assertUploaded(server, sick, sick.names);
});
