import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaPath } from '#domain/ids.ts';
import { systemClock } from '#lib/clock.ts';
import { openBucket } from '#objects/engines.ts';
import { type ObjectServer, startObjectServer } from '#test/support/object-server.ts';
import { PERIOD_MS, recordingsFolder, WrittenRecording } from '#test/support/recording-folder.ts';
import { BucketFileReader } from './bucket-reader.ts';
import { LocalFileReader } from './reader.ts';

/** A reader whose recordings are all in the bucket. */
async function setUp(t: TestContext, options: { readonly shortIndexBytes?: number } = {}) {
  const parts = new AsyncDisposableStack();
  t.after(() => parts.disposeAsync());
  const server = parts.use(await startObjectServer());
  const bucket = parts.use((await openBucket(server.settings, systemClock))!);
  const local = parts.use(new LocalFileReader({ folder: recordingsFolder(t) }));
  const reader = new BucketFileReader({ local, bucket, clock: systemClock, ...options });
  const written = recordingsFolder(t);
  const store = async (periods = 3) => {
    const recording = new WrittenRecording(written);
    for (let period = 0; period < periods; period += 1) recording.period();
    recording.end();
    for (const name of recording.names) await bucket.putFile(`${recording.path}/${name}`, join(recording.folder, name));
    return recording.path;
  };
  return { server, reader, store };
}

/** The MP4 of one period. */
const movieOf = (path: MediaPath, period: number) => ({
  recording: path,
  renditions: ['source'],
  fromSegment: period,
  untilSegment: period + 1,
  expectedSamples: [1],
  span: { from: (period * PERIOD_MS) / 1000, until: ((period + 1) * PERIOD_MS) / 1000 },
});

const readsOf = ({ requests }: ObjectServer, name: string) =>
  requests.filter((request) => request.method === 'GET' && request.name === name).length;

/** Counts how many requests for an index are in progress at once. Each takes a moment. */
function countIndexes(server: ObjectServer): { readonly most: number } {
  const counted = { now: 0, most: 0 };
  server.faultOf = ({ method, name }) => {
    if (method !== 'GET' || !name.endsWith('/index')) return undefined;
    counted.most = Math.max(counted.most, ++counted.now);
    return { type: 'slow', until: sleep(10).then(() => (counted.now -= 1)) };
  };
  return counted;
}

test('long indexes of any number of recordings are fetched two at a time, and all are answered', async (t) => {
  const { server, reader, store } = await setUp(t, { shortIndexBytes: 0 });
  const paths: MediaPath[] = [];
  while (paths.length < 12) paths.push(await store());
  const counted = countIndexes(server);
  // A viewer asks for the MP4 of each recording while another one opens it.
  const movies = paths.map((path) => reader.movie(path, movieOf(path, 0), '192.0.2.1'));
  const indexes = await Promise.all(paths.map((path) => reader.index(path, true, '198.51.100.1')));
  for (const found of indexes) assert.equal(found?.index.hasEnded, true);
  for (const movie of await Promise.all(movies)) assert.ok(movie !== undefined);
  assert.equal(counted.most, 2);
});

test('short indexes are fetched 16 at a time', async (t) => {
  const { server, reader, store } = await setUp(t);
  const paths: MediaPath[] = [];
  while (paths.length < 40) paths.push(await store());
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  let requests = 0;
  server.faultOf = () => {
    if (++requests === 16) goOn();
    return { type: 'slow', until };
  };
  const indexes = await Promise.all(paths.map((path) => reader.index(path, true, '198.51.100.1')));
  for (const found of indexes) assert.equal(found?.index.hasEnded, true);
  assert.equal(server.mostAtOnce, 16);
});

test('a short recording opens while any number of long ones wait for a slow bucket', async (t) => {
  const { server, reader, store } = await setUp(t, { shortIndexBytes: 2000 });
  const long: MediaPath[] = [];
  while (long.length < 20) long.push(await store(20));
  const short = await store(1);
  const sizes = [long[0], short].map((path) => server.objects.get(`${path}/index`)!.length > 2000);
  assert.deepEqual(sizes, [true, false]);
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: isBusy, resolve: busy } = Promise.withResolvers<void>();
  let waiting = 0;
  server.faultOf = ({ method, name }) => {
    if (method !== 'GET' || !name.endsWith('/index') || name.startsWith(short)) return undefined;
    if (++waiting === 2) busy();
    return { type: 'slow', until };
  };
  const opening = long.map((path) => reader.index(path, true, '192.0.2.1'));
  await isBusy;
  assert.equal((await reader.index(short, true, '192.0.2.1'))?.index.hasEnded, true);
  assert.ok((await reader.movie(short, movieOf(short, 0), '192.0.2.1')) !== undefined);
  goOn();
  for (const found of await Promise.all(opening)) assert.equal(found?.index.hasEnded, true);
});

test('the index of a recording that has ended is fetched once for all its MP4s', async (t) => {
  const { server, reader, store } = await setUp(t);
  const path = await store();
  await reader.index(path, true, '192.0.2.1');
  for (const at of [0, 1, 2]) assert.ok((await reader.movie(path, movieOf(path, at), '192.0.2.1')) !== undefined);
  // In this span there is no frame.
  const nothing = { ...movieOf(path, 0), span: { from: 1000, until: 1001 } };
  for (let times = 0; times < 2; times += 1) assert.equal(await reader.movie(path, nothing, '192.0.2.1'), undefined);
  assert.equal((await reader.index(path, true, '192.0.2.1'))?.index.hasEnded, true);
  assert.equal(readsOf(server, `${path}/index`), 1);
});
