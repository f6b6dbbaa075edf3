import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type FastifyRequest, fastify } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { newMediaPath, newNodeId, newPlaybackId, newUserId } from '#domain/ids.ts';
import { QUOTA_NAMES, type Quotas } from '#domain/quotas.ts';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import { Viewers } from '#live/viewers.ts';
import type { Store } from '#store/store.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { PUBLIC_STREAMS, somePublicStream } from '#test/support/playback-rights.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { originPlugin } from './origin.ts';
import { ViewerNames } from './viewer.ts';

const SECRET = new Secret('shared by all nodes');
const playbackId = newPlaybackId();
const media = `/hls/${playbackId}/${newMediaPath()}`;
const PLAYLIST = '#EXTM3U\n'.repeat(20);
const GZIPPED = gzipSync(PLAYLIST);

/** A request that reached the owner. */
interface Asked {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly response: ServerResponse;
  /** Sends a playlist or media, as the owner would. */
  readonly answer: () => void;
}

/** A node without sessions, and the owner that it asks. The test answers for the owner later, or `onAsked` does so at once. */
async function setUp(t: TestContext, onAsked: (asked: Asked) => void = () => {}) {
  const asked: Asked[] = [];
  const owner = createServer(({ url = '', headers }, response) => {
    const answer = () => {
      const isPlaylist = url.includes('.m3u8');
      response.writeHead(200, {
        'content-type': isPlaylist ? 'application/vnd.apple.mpegurl' : 'video/mp4',
        'cache-control': isPlaylist ? `max-age=0, s-maxage=${url.includes('?') ? 24 : 2}` : 'max-age=24',
        ...(isPlaylist ? { 'content-encoding': 'gzip' } : {}),
      });
      response.end(isPlaylist ? GZIPPED : '0123456789');
    };
    const request = { url, headers, response, answer };
    asked.push(request);
    onAsked(request);
  }).listen(0, '127.0.0.1');
  await once(owner, 'listening');
  const { port } = owner.address() as AddressInfo;
  t.after(() => owner.close().closeAllConnections());

  const found = async () => ({
    session: someSession(someStream(newUserId()), {}),
    node: { id: newNodeId(), url: `http://127.0.0.1:${port}` },
  });
  // The clock stands still unless a test moves it, because a viewer is reported again after some seconds.
  const time = { now: 0 };
  const viewers = new Viewers(1000, { now: () => ms(time.now), monotonic: () => ms(time.now) });
  const live: LiveDirectory & Audience = {
    status: () => undefined,
    sessionStatus: () => undefined,
    watch: () => undefined,
    watchPath: () => undefined,
    watchedStream: somePublicStream,
    viewers: (id) => viewers.countOf(id),
    usageOf: () => assert.fail('only the API calls this'),
    watched: (id, viewer, quota) => viewers.note(id, viewer, quota!, false) !== 'refused',
    samples: () => undefined,
    delivered: () => {},
    watchedElsewhere: () => assert.fail('no node sends requests to this one'),
    takeUnreported: (id, atMost) => viewers.takeUnreported(id, atMost),
    reported: (id, reported) => viewers.reported(id, reported),
  };
  const store = { sessions: { newest: found, byMediaPath: found }, users: { get: async () => undefined } };
  const app = fastify();
  // Replaces the server's own error handler, which belongs to another folder.
  app.setErrorHandler((error, _request, reply) => {
    assert.ok(error instanceof MillraceError, String(error));
    return reply.code(error.status).send({ code: error.code });
  });
  const metrics = createMetrics();
  const quotas = Object.fromEntries(QUOTA_NAMES.map((name) => [name, 0])) as Quotas;
  await app.register(originPlugin, {
    live,
    audience: live,
    settings: { maxHeldRequests: 1000, dvr: 'on' },
    targetDurationS: 4,
    metrics,
    ...PUBLIC_STREAMS,
    cluster: {
      secret: SECRET,
      owners: { store: store as unknown as Store, nodeId: newNodeId(), keptForMs: 48_000, quotas, clock: systemClock },
    },
  });
  t.after(() => app.close());
  const isHolding = async (count: number) =>
    (await metrics.registry.metrics()).includes(`\nmillrace_held_requests_count ${count}\n`);
  return { app, asked, isHolding, time };
}

test('viewers who wait for the same playlist cause one request to its node, however each of them spells the URL', async (t) => {
  const { app, asked } = await setUp(t);
  const list = `${media}/source.m3u8`;
  const spellings = ['?_HLS_msn=7&_HLS_part=2', '?_HLS_part=2&_HLS_msn=7', '?a=1&_HLS_msn=07&_HLS_part=2'];
  const all = Array.from({ length: 300 }, (_, viewer) =>
    app.inject({
      url: list + spellings[viewer % 3]!,
      headers: { 'user-agent': `viewer ${viewer}`, 'accept-encoding': viewer % 2 === 0 ? 'gzip' : 'identity' },
    }),
  );
  await waitFor(() => asked.length > 0, { what: 'the request' });
  asked[0]!.answer();
  for (const [viewer, { statusCode, headers, rawPayload }] of (await Promise.all(all)).entries()) {
    assert.equal(statusCode, 200);
    assert.equal((viewer % 2 === 0 ? gunzipSync(rawPayload) : rawPayload).toString(), PLAYLIST);
    assert.equal(headers['cache-control'], viewer % 3 === 0 ? 'max-age=0, s-maxage=24' : 'no-store');
  }
  await app.inject(list + spellings[0]!);
  assert.deepEqual(
    asked.map(({ url }) => url),
    [list + spellings[0]!],
  );
});

test('media is fetched from its node once and whole, and each viewer gets the range that it requested', async (t) => {
  const { app, asked } = await setUp(t, ({ answer }) => answer());
  const url = `${media}/source/3.m4s`;
  const answers = await Promise.all(
    [
      {},
      { range: 'bytes=2-5', cookie: 'secret' },
      { 'if-none-match': '"3.m4s"' },
      { range: 'bytes=99-', authorization: 'Bearer secret' },
    ].map((headers) => app.inject({ url, headers })),
  );
  answers.push(await app.inject({ url, method: 'HEAD' }), await app.inject(url));
  assert.deepEqual(
    answers.map(({ statusCode, body }) => (statusCode === 416 ? [statusCode] : [statusCode, body])),
    [[200, '0123456789'], [206, '2345'], [304, ''], [416], [200, ''], [200, '0123456789']],
  );
  assert.equal(asked.length, 1);
  const { host: _host, connection: _connection, 'x-millrace-viewers': told, ...sent } = asked[0]!.headers;
  assert.deepEqual(sent, { 'accept-encoding': 'gzip' }, 'nothing that a viewer sent is passed on');
  assert.match(String(told), /^\.[\w-]{43}$/);
});

test('a new viewer is reported to the node of the stream once as new, and then every three seconds as one whose view is counted', async (t) => {
  const { app, asked, time } = await setUp(t, ({ answer }) => answer());
  const list = `${media}/source.m3u8`;
  const tell = async (msn: number, userAgent: string) => {
    await app.inject({ url: `${list}?_HLS_msn=${msn}`, headers: { 'user-agent': userAgent } });
    return toldIn(asked.at(-1)!);
  };
  const [first] = await tell(1, 'a');
  const [second] = await tell(2, 'b');
  assert.match(first!, /^new [\w-]{12}$/);
  assert.notEqual(first, second);
  assert.deepEqual(await tell(3, 'a'), []);
  time.now = 3000;
  assert.deepEqual(await tell(4, 'a'), [first!.slice('new '.length)]);
});

for (const [what, status, refusal, isCounted] of [
  ['a viewer is reported as new once more when the node that was told refused the request', 404, 'not_found', false],
  ['a viewer who waited in vain for the publisher is reported as counted', 503, 'playlist_timeout', true],
] as const) {
  test(what, async (t) => {
    let isRefusing = true;
    const { app, asked, time } = await setUp(t, ({ response, answer }) => {
      if (isRefusing) response.writeHead(status).end(JSON.stringify({ errors: ['No.'], code: refusal }));
      else answer();
    });
    const list = `${media}/source.m3u8`;
    const told: string[] = [];
    for (const [msn, now] of [0, 3000, 6000].entries()) {
      time.now = now;
      if (msn === 1) isRefusing = false;
      await app.inject(`${list}?_HLS_msn=${msn}`);
      told.push(...toldIn(asked.at(-1)!));
    }
    const [first] = told;
    const counted = first!.slice('new '.length);
    assert.deepEqual(told, [first, isCounted ? counted : first, counted]);
  });
}

/** The viewers named in a request to the owner, marked when their views have not been counted. */
function toldIn({ headers }: Asked): string[] {
  const request = { headers } as FastifyRequest;
  const told = new ViewerNames(SECRET).told(request, playbackId) ?? [];
  return told.map(({ name, isNew }) => (isNew ? `new ${name}` : name));
}

test('when the node of a stream dies, all waiting viewers are told to try again, and the next request asks the node again', async (t) => {
  const { app, asked } = await setUp(t);
  const url = `${media}/source.m3u8?_HLS_msn=7`;
  const all = Array.from({ length: 20 }, () => app.inject(url));
  await waitFor(() => asked.length > 0, { what: 'the request' });
  asked[0]!.response.destroy();
  for (const answer of await Promise.all(all)) {
    assert.deepEqual([answer.statusCode, answer.json().code], [503, 'node_unreachable']);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
  const again = app.inject(url);
  await waitFor(() => asked.length > 1, { what: 'another request' });
  asked[1]!.answer();
  assert.equal((await again).statusCode, 200);
});

test('a refusal by the node of a stream is passed on, and is not kept for the next viewer', async (t) => {
  const { app, asked } = await setUp(t, ({ url, response }) => {
    const [status, code] = url.includes('msn') ? [400, 'invalid_request'] : [404, 'not_found'];
    response.writeHead(status, { 'cache-control': 'no-store' }).end(JSON.stringify({ errors: ['No.'], code }));
  });
  for (const [url, status, code] of [
    [`${media}/source.m3u8?_HLS_msn=99`, 400, 'invalid_request'],
    [`${media}/source/99.m4s`, 404, 'not_found'],
    [`/hls/${playbackId}/index.m3u8`, 404, 'stream_offline'],
    [`/hls/${playbackId}/thumbnail.jpg`, 404, 'not_found'],
  ] as const) {
    const before = asked.length;
    for (const _ of [1, 2]) {
      const answer = await app.inject(url);
      assert.deepEqual([answer.statusCode, answer.json().code], [status, code], url);
      assert.equal(answer.headers['cache-control'], 'no-store', url);
    }
    assert.equal(asked.length - before, 2, url);
  }
});

test('a viewer who asks too early does not cause others to be refused, not even those who ask before the refusal arrives', async (t) => {
  const { app, asked, isHolding } = await setUp(t);
  const url = `${media}/source/9.m4s`;
  const early = app.inject(url);
  await waitFor(() => asked.length === 1, { what: 'the request that comes too early' });
  const others = [app.inject(url), app.inject(url)];
  await waitFor(() => isHolding(3), { what: 'the others' });
  asked[0]!.response.writeHead(404).end(JSON.stringify({ errors: ['No.'], code: 'not_found' }));
  assert.equal((await early).statusCode, 404);
  await waitFor(() => asked.length === 2, { what: 'one request for the others' });
  asked[1]!.answer();
  for (const { statusCode } of await Promise.all(others)) assert.equal(statusCode, 200);
  assert.equal(asked.length, 2);
});

test('an invalid answer counts as no answer', async (t) => {
  const { app } = await setUp(t, ({ url, response }) => {
    if (url.includes('msn=1')) response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip');
    else if (url.includes('msn=2')) response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    else response.writeHead(503).end('{"code":"not_found","errors":["Of another status."]}');
  });
  for (const msn of [1, 2, 3]) {
    const answer = await app.inject(`${media}/source.m3u8?_HLS_msn=${msn}`);
    assert.deepEqual([answer.statusCode, answer.json().code], [503, 'node_unreachable'], String(msn));
  }
});

test('the request to the other node ends when the last waiting viewer has left', async (t) => {
  const { app, asked, isHolding } = await setUp(t);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const leaving = [new AbortController(), new AbortController()];
  const url = `${address}${media}/source/7.1.m4s`;
  const waits = leaving.map(({ signal }) => fetch(url, { signal }).catch(() => 'left'));
  await waitFor(() => isHolding(2), { what: 'both viewers' });
  await waitFor(() => asked.length > 0, { what: 'the request' });
  const ended = once(asked[0]!.response, 'close');
  leaving[0]!.abort();
  await waits[0];
  await waitFor(() => isHolding(1), { what: 'the first to leave' });
  assert.equal(asked[0]!.response.destroyed, false);
  leaving[1]!.abort();
  await ended;
  assert.equal(asked.length, 1);
});
