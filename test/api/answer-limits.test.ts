import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { listenHttp } from '#http/http.ts';
import { someReceipt, someStream } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startApi, type TestApi, type TestKey } from './server.ts';

/** Stores streams as large as `POST /stream` accepts them. */
async function addLargeStreams(api: TestApi, { userId }: TestKey, count: number): Promise<string[]> {
  const name = '\u{1F40E}'.repeat(500);
  const profiles = Array.from({ length: 16 }, (_, index) => ({
    name: `${name.slice(4)}${index}`,
    width: 640,
    height: 360,
    bitrate: 500_000,
    fps: 30,
  }));
  const streams = Array.from({ length: count }, () => someStream(userId, { profiles }));
  for (const stream of streams) await api.store.streams.create(stream, someReceipt());
  return streams.map(({ id }) => id);
}

test('a page of a list has about a megabyte at most, and its Link header leads to the rest', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const made = await addLargeStreams(api, key, 100);
  const found: string[] = [];
  for (let next: string | undefined = '/stream?limit=1000'; next !== undefined; ) {
    const page = await api.call('GET', next, { key });
    assert.ok(Buffer.byteLength(page.body) < 1_200_000, `${Buffer.byteLength(page.body)} bytes`);
    found.push(...page.json().map(({ id }: { id: string }) => id));
    next = /^<http:\/\/[^/]+\/api(.*)>; rel="next"$/.exec(String(page.headers.link))?.[1];
  }
  assert.equal(found.length, 100);
  assert.deepEqual(new Set(found), new Set(made));
});

test('a large answer counts as several requests, so that nobody keeps the server busy with large lists', async (t) => {
  const api = await startApi(t, { MILLRACE_API_RATE_LIMIT: '60', MILLRACE_QUOTA_REQUESTS_PER_MINUTE: '30' });
  const [key, other] = [await api.makeKey('ann'), await api.makeKey('ann', 'other')];
  await addLargeStreams(api, key, 50);
  const remaining = async (path: string, by = key) =>
    Number((await api.call('GET', path, { key: by })).headers['ratelimit-remaining']);
  assert.equal(await remaining('/stream?limit=1'), 59, 'a small one counts as one');
  const page = await api.call('GET', '/stream?limit=1000', { key });
  const cost = 1 + Math.floor(page.body.length / 65_536);
  assert.ok(cost > 5, `${page.body.length} characters`);
  assert.equal(Number(page.headers['ratelimit-remaining']), 59 - cost);
  const answers: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    answers.push((await api.call('GET', '/stream?limit=1000', { key: other })).statusCode);
  }
  assert.ok(answers.includes(429), 'the limit of the user counts them, too');
  api.time.monotonic += 60_000;
  assert.equal((await api.call('GET', '/stream?limit=1000', { key })).statusCode, 200);
});

test('a connection on which an answer is not read is closed after thirty seconds', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  await addLargeStreams(api, key, 50);
  const sockets: Socket[] = [];
  api.http.server.on('connection', (socket: Socket) => void sockets.push(socket));
  const { port } = await listenHttp(api.http, { host: '127.0.0.1', port: 0 });
  const reader = connect(port, '127.0.0.1').pause();
  t.after(async () => void reader.destroy());
  reader.write(
    `GET /api/stream?limit=1000 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key.secret}\r\n\r\n`.repeat(30),
  );
  await waitFor(() => sockets[0]?.timeout === 30_000, { what: 'the time limit' });
});
