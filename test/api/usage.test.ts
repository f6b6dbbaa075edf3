import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USAGE, type UsageCounts } from '#domain/usage.ts';
import { DAY_MS, HOUR_MS, ms } from '#lib/units.ts';
import { someReceipt, someStream } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** A stream of a user with usage at some hours before now. */
async function used(api: TestApi, key: TestKey, hoursAgo: Readonly<Record<number, Partial<UsageCounts>>>) {
  const stream = someStream(key.userId);
  await api.store.streams.create(stream, someReceipt());
  const { playbackId } = stream;
  const hours = Object.entries(hoursAgo).map(([ago, counts]) => {
    const at = api.time.now - Number(ago) * HOUR_MS;
    return { hour: ms(at - (at % HOUR_MS)), playbackId, countedBy: 'x', counts: { ...NO_USAGE, ...counts } };
  });
  await api.store.usage.count(hours);
  return stream;
}

async function get(api: TestApi, key: TestKey, path: string, headers: Record<string, string> = {}) {
  const response = await api.call('GET', path, { key, headers });
  assert.equal(response.statusCode, 200, response.body);
  return response;
}

test('usage is summed by day, stream and user', async (t) => {
  const api = await startApi(t);
  const [ann, admin] = [await api.makeKey('ann'), await api.makeKey('admin')];
  const stream = await used(api, ann, {
    0: { ingestMs: 90_000, ingestBytes: 10, views: 1 },
    1: { transcodedMs: 60_000, transcodedBytes: 5, deliveredBytes: 7, watchedMs: 30_000 },
    900: { views: 5 },
  });
  await used(api, ann, { 0: { views: 2 } });
  const [all] = (await get(api, ann, '/data/usage?step=week')).json();
  assert.deepEqual(
    { ...all, from: 0 },
    {
      from: 0,
      ingestMinutes: 1.5,
      ingestBytes: 10,
      transcodedMinutes: 1,
      transcodedBytes: 5,
      deliveredBytes: 7,
      views: 3,
      watchedMinutes: 0.5,
    },
  );
  const days = (await get(api, ann, '/data/usage')).json();
  assert.ok(days.every(({ from }: { from: number }) => from % DAY_MS === 0));
  const byStream = (await get(api, ann, '/data/usage?step=week&by=stream')).json();
  assert.deepEqual(
    byStream
      .filter((entry: { streamId: string }) => entry.streamId === stream.id)
      .map((entry: typeof all) => entry.views),
    [1],
  );
  assert.equal((await get(api, ann, `/data/usage?step=hour&from=${api.time.now}`)).json().length, 1);
  assert.deepEqual((await get(api, admin, '/data/usage')).json(), []);
  const [everyone] = (await get(api, admin, '/data/usage?all=1&by=user&step=week')).json();
  assert.deepEqual([everyone.userId, everyone.views], [ann.userId, 3]);
  for (const query of ['step=month', 'by=x', 'format=xml', 'from=x', 'from=5&to=4']) {
    assert.equal((await api.call('GET', `/data/usage?${query}`, { key: ann })).statusCode, 400, query);
  }
  assert.equal((await api.call('GET', '/data/usage?all=1', { key: ann })).statusCode, 403);
});

test('usage is CSV for those who ask for it', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  const stream = await used(api, ann, { 0: { views: 2, ingestMs: 60_000 } });
  const answer = await get(api, ann, '/data/usage?by=stream&format=csv');
  assert.match(String(answer.headers['content-type']), /^text\/csv/);
  const [header, line, end] = answer.body.split('\r\n');
  assert.match(header!, /^from,streamId,playbackId,userId,ingestMinutes,/);
  assert.match(
    line!,
    new RegExp(`^\\d{4}-\\d\\d-\\d\\dT00:00:00.000Z,${stream.id},${stream.playbackId},${ann.userId},1,`),
  );
  assert.equal(end, '');
  assert.equal((await get(api, ann, '/data/usage?by=stream', { accept: 'text/csv' })).body, answer.body);
});

test('views are counted in the forms of the reference service', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const { playbackId } = await used(api, ann, {
    0: { views: 1, watchedMs: 60_000 },
    30: { views: 2 },
    5000: { views: 4, watchedMs: 60_000 },
  });
  await used(api, ann, { 0: { views: 8 } });
  const json = async (path: string) => (await get(api, ann, path)).json();
  assert.deepEqual(await json(`/data/views/query/total/${playbackId}`), { playbackId, viewCount: 7, playtimeMins: 2 });
  assert.deepEqual(await json('/data/views/query'), [{ viewCount: 11, playtimeMins: 1 }]);
  assert.deepEqual(await json(`/data/views/query?playbackId=${playbackId}`), [
    { playbackId, viewCount: 3, playtimeMins: 1 },
  ]);
  const broken = await json('/data/views/query?breakdownBy[]=playbackId');
  assert.equal(broken.length, 2);
  const days = await json(`/data/views/query?playbackId=${playbackId}&timeStep=day`);
  assert.equal(days.length, 2);
  assert.ok(days.every(({ timestamp }: { timestamp: number }) => timestamp % DAY_MS === 0));
  const metrics = await json('/data/usage/query');
  assert.deepEqual(metrics, { UserID: ann.userId, DeliveryUsageMins: 1, TotalUsageMins: 0, StorageUsageMins: 0 });
  const status = async (path: string, key = ann) => (await api.call('GET', path, { key })).statusCode;
  assert.equal(await status(`/data/views/query/total/${playbackId}`, bob), 404);
  assert.equal(await status(`/data/views/query?playbackId=${playbackId}`, bob), 404);
  assert.equal(await status('/data/views/query?breakdownBy=country'), 501);
  assert.equal(await status('/data/views/query?creatorId=x'), 501);
  assert.equal(await status('/data/views/query/creator'), 501);
});

test('spans that follow each other have no hour in common', async (t) => {
  const api = await startApi(t);
  const ann = await api.makeKey('ann');
  await used(api, ann, { 0: { views: 1 }, 1: { views: 2 }, 2: { views: 4 } });
  const hour = api.time.now - (api.time.now % HOUR_MS);
  const viewsIn = async (from: number, to: number) => {
    const span = `from=${from}&to=${to}`;
    const hours = (await get(api, ann, `/data/usage?step=hour&${span}`)).json() as readonly {
      readonly views: number;
    }[];
    const [sum] = (await get(api, ann, `/data/views/query?${span}`)).json();
    const views = hours.reduce((all, each) => all + each.views, 0);
    assert.equal(sum.viewCount, views);
    return views;
  };
  assert.equal(await viewsIn(hour - 2 * HOUR_MS, hour), 6);
  assert.equal(await viewsIn(hour, hour + HOUR_MS), 1);
  // Within an hour, and at its beginning, the whole hour counts.
  assert.equal(await viewsIn(hour - HOUR_MS + 1, hour - 1), 2);
  assert.equal(await viewsIn(hour - HOUR_MS, hour - HOUR_MS), 2);
  assert.equal(await viewsIn(hour - HOUR_MS, hour + 1), 3);
});
