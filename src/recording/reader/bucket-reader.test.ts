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
async function setUp(t: TestContext) {
  const parts = new AsyncDisposableStack();
  t.after(() => parts.disposeAsync());
  const server = parts.use(await startObjectServer());
  const bucket = parts.use((await openBucket(server.settings, systemClock))!);
  const local = parts.use(new LocalFileReader({ folder: recordingsFolder(t) }));
  const reader = new BucketFileReader({ local, bucket, clock: systemClock });
  const written = recordingsFolder(t);
  const store = async () => {
    const recording = new WrittenRecording(written);
    for (let period = 0; period < 3; period += 1) recording.period();
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

test('the indexes of any number of recordings are fetched two at a time, and all are answered', async (t) => {
  const { server, reader, store } = await setUp(t);
  const paths: MediaPath[] = [];
  while (paths.length < 12) paths.push(await store());
  server.faultOf = () => ({ type: 'slow', until: sleep(10) });
  // A viewer asks for the MP4 of each recording while another one opens it.
  const movies = paths.map((path) => reader.movie(path, movieOf(path, 0), '192.0.2.1'));
  const indexes = await Promise.all(paths.map((path) => reader.index(path, true, '198.51.100.1')));
  for (const found of indexes) assert.equal(found?.index.hasEnded, true);
  for (const movie of await Promise.all(movies)) assert.ok(movie !== undefined);
  assert.equal(server.mostAtOnce, 2);
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
