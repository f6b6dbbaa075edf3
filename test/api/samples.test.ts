import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSessionId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { someReceipt, someSample, someSession, someStream } from '#test/support/sample-records.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** A session of a user that began ten minutes ago. */
async function begin(api: TestApi, key: TestKey) {
  const stream = someStream(key.userId);
  await api.store.streams.create(stream, someReceipt());
  const session = someSession(stream, { phase: 'live', createdAt: ms(api.time.now - 600_000) });
  await api.store.sessions.create(session);
  return session;
}

test('samples of a running session are those in memory, and a minute of them on request', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const session = await begin(api, key);
  const start = Math.ceil((api.time.now - 500_000) / 60_000) * 60_000;
  const at = (seconds: number) => ms(start + seconds * 1000);
  const minute = someSample({ at: at(0), durationMs: 60_000, keyframeIntervalS: undefined, lagMs: undefined });
  await api.store.samples.add([{ sessionId: session.id, sample: minute }]);
  api.samples.set(session.id, [
    someSample({ at: at(0) }),
    someSample({ at: at(5), driftS: 0.1234567 }),
    someSample({ at: at(10), viewers: 9 }),
    someSample({ at: at(65) }),
  ]);
  const get = async (query = '') => {
    const response = await api.call('GET', `/session/${session.id}/samples${query}`, { key });
    assert.equal(response.statusCode, 200, response.body);
    return response.json();
  };
  const short = await get();
  assert.deepEqual([short.sessionId, short.step, short.samples.length], [session.id, 5, 4]);
  assert.deepEqual(
    short.renditions,
    session.profiles.map(({ name }) => name),
  );
  assert.deepEqual(short.samples[1], {
    time: at(5),
    duration: 5,
    bitrate: { min: 1000, mean: 2000, max: 3000 },
    fps: 30,
    longestGap: 0.04,
    keyframeInterval: 2,
    speed: 1,
    drift: 0.123,
    lag: 12,
    viewers: 3,
    renditions: ['running'],
  });
  const long = await get('?step=60');
  assert.deepEqual(
    long.samples.map((sample: Record<string, unknown>) => [sample.time, sample.duration, sample.viewers]),
    [[at(0), 60, 3]],
    'a minute that is not complete would be counted again with the complete one',
  );
  assert.deepEqual((await get(`?from=${at(5)}&to=${new Date(at(10)).toISOString()}`)).samples.length, 2);

  api.samples.delete(session.id);
  const elsewhere = await get('?step=5');
  assert.deepEqual([elsewhere.step, elsewhere.samples.length], [60, 1]);
  assert.deepEqual(Object.keys(elsewhere.samples[0]).includes('lag'), false);
});

test('samples are for the owner, and wrong queries are named', async (t) => {
  const api = await startApi(t);
  const [ann, bob] = [await api.makeKey('ann'), await api.makeKey('bob')];
  const session = await begin(api, ann);
  const status = async (path: string, key = ann) => (await api.call('GET', path, { key })).statusCode;
  assert.equal(await status(`/session/${session.id}/samples`, bob), 404);
  assert.equal(await status(`/session/${newSessionId()}/samples`), 404);
  for (const query of ['step=7', 'from=yesterday', 'from=2&to=1', 'to=99999999999999999', 'from=2026-13-45']) {
    const response = await api.call('GET', `/session/${session.id}/samples?${query}`, { key: ann });
    assert.equal(response.statusCode, 400, query);
    assert.match(response.body, /query parameter/);
  }
});
