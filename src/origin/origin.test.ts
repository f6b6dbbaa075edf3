import assert from 'node:assert/strict';
import { request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { MillraceError } from '#domain/errors.ts';
import { type MediaPath, newMediaPath, newPlaybackId, newUserId, type PlaybackId } from '#domain/ids.ts';
import type { MediaAnswer, PlaylistAnswer, PlaylistDirectives, Presentation, Validity, Waiting } from '#hls/hls.ts';
import { systemClock } from '#lib/clock.ts';
import type { Audience, LiveDirectory } from '#live/live.ts';
import { Viewers } from '#live/viewers.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { PUBLIC_STREAMS, somePublicStream } from '#test/support/playback-rights.ts';
import { originPlugin } from './origin.ts';

/** A request to the scripted presentation, which the test answers. */
type Asked = { readonly what: string; readonly directives?: PlaylistDirectives; readonly waiting: Waiting };

const playbackId = newPlaybackId();
const ofUser = newUserId();
const mediaPath = newMediaPath();
const index = `/hls/${playbackId}/index.m3u8`;
const media = `/hls/${playbackId}/${mediaPath}`;

/** An origin with one session, whose presentation answers with `answer`. */
async function originOf(
  t: TestContext,
  answer: (asked: Asked) => PlaylistAnswer | MediaAnswer | Promise<PlaylistAnswer | MediaAnswer>,
  { maxViewers = 100, ...settings }: { maxViewers?: number; maxHeldRequests?: number } = {},
  thumbnail: () => Uint8Array | undefined = () => undefined,
) {
  const asked: Asked[] = [];
  const ask = async (question: Asked) => {
    asked.push(question);
    return await answer(question);
  };
  const presentation = {
    multivariant: (waiting: Waiting) => ask({ what: 'index', waiting }),
    playlist: (what: string, directives: PlaylistDirectives, waiting: Waiting) => ask({ what, directives, waiting }),
    media: (rendition: string, name: string, waiting: Waiting) => ask({ what: `${rendition}/${name}`, waiting }),
  } as unknown as Presentation;
  const watchable = () => ({ mediaPath, phase: 'live', presentation, thumbnail: thumbnail() }) as const;
  const viewers = new Viewers(maxViewers, systemClock);
  const live: LiveDirectory & Audience = {
    status: () => undefined,
    sessionStatus: () => undefined,
    watch: (id: PlaybackId) => (id === playbackId ? watchable() : undefined),
    watchPath: (id: PlaybackId, path: MediaPath) => (id === playbackId && path === mediaPath ? watchable() : undefined),
    watchedStream: somePublicStream,
    viewers: (id) => viewers.countOf(id),
    usageOf: () => assert.fail('only the API calls this'),
    watched: (id, viewer) => viewers.note(id, viewer, { ofUser, atMost: 0 }, true) !== 'refused',
    samples: () => undefined,
    delivered: () => {},
    watchedElsewhere: (id, reported) => void viewers.noteElsewhere(id, reported),
    takeUnreported: (id, atMost) => viewers.takeUnreported(id, atMost),
    reported: (id, reported) => viewers.reported(id, reported),
  };
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } }); // as in `http`
  // Replaces the server's own error handler, which belongs to another folder.
  app.setErrorHandler((error, _request, reply) => {
    assert.ok(error instanceof MillraceError, String(error));
    return reply.code(error.status).send({ code: error.code });
  });
  const metrics = createMetrics();
  await app.register(originPlugin, {
    live,
    audience: live,
    settings: { maxHeldRequests: 100, dvr: 'on', ...settings },
    targetDurationS: 4,
    metrics,
    ...PUBLIC_STREAMS,
  });
  t.after(() => app.close());
  return { app, asked, metrics, viewers };
}

const playlist = (text: string, validity: Validity = 'current'): PlaylistAnswer => ({
  type: 'playlist',
  playlist: { text, ended: false, gzip: async () => gzipSync(text) },
  validity,
});

const segment = (...texts: string[]): MediaAnswer => {
  const pieces = texts.map((text) => Buffer.from(text));
  return { type: 'media', resource: { pieces, sizeBytes: Buffer.concat(pieces).length, contentType: 'video/mp4' } };
};

/** A promise that never settles, except when the signal aborts it. */
function pending<T>(signal: AbortSignal): Promise<T> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

test('a stream without a publisher and an id of another form are answered as offline, which no cache may keep', async (t) => {
  const { app } = await originOf(t, () => playlist(''));
  for (const id of [newPlaybackId(), 'x', '..%2f..%2fetc', playbackId.toUpperCase(), `${playbackId}0`]) {
    const response = await app.inject(`/hls/${id}/index.m3u8`);
    assert.equal(response.statusCode, 404, id);
    assert.equal(response.json().code, 'stream_offline');
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.equal(response.headers['access-control-allow-origin'], '*');
  }
});

test('the multivariant playlist has the content type, caching and CORS headers that players need', async (t) => {
  const { app } = await originOf(t, () => playlist('#EXTM3U\n'));
  const response = await app.inject({ url: index, headers: { 'accept-encoding': 'identity' } });
  assert.equal(response.statusCode, 200);
  assert.equal(response.body, '#EXTM3U\n');
  const { date: _date, connection: _connection, ...headers } = response.headers;
  assert.deepEqual(headers, {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Age, Content-Length, Content-Range, Date, ETag, Retry-After',
    'cache-control': 'max-age=0, s-maxage=2',
    'content-length': '8',
    'content-type': 'application/vnd.apple.mpegurl',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Accept-Encoding',
    'x-content-type-options': 'nosniff',
  });
});

test('a playlist is compressed for clients that accept gzip, and HEAD gives the same headers without a body', async (t) => {
  const { app } = await originOf(t, () => playlist('#EXTM3U\n'.repeat(50)));
  const request = { url: `${media}/source.m3u8`, headers: { 'accept-encoding': 'gzip, br' } };
  const got = await app.inject(request);
  assert.equal(gunzipSync(got.rawPayload).toString(), '#EXTM3U\n'.repeat(50));
  assert.equal(got.headers['content-encoding'], 'gzip');
  const head = await app.inject({ ...request, method: 'HEAD' });
  assert.equal(head.rawPayload.length, 0);
  const { date: _1, ...gotHeaders } = got.headers;
  const { date: _2, ...headHeaders } = head.headers;
  assert.deepEqual(headHeaders, gotHeaders);
});

test('directives reach the presentation, and the answer to a blocking request may be kept for six target durations', async (t) => {
  const { app, asked } = await originOf(t, ({ directives }) =>
    playlist('', directives?.msn === undefined ? 'current' : 'final'),
  );
  const blocking = await app.inject(`${media}/audio.m3u8?_HLS_msn=12&_HLS_part=3&_HLS_skip=YES`);
  const plain = await app.inject(`${media}/audio.m3u8`);
  assert.equal(blocking.headers['cache-control'], 'max-age=0, s-maxage=24');
  assert.equal(plain.headers['cache-control'], 'max-age=0, s-maxage=2');
  assert.deepEqual(
    asked.map(({ what, directives }) => ({ what, directives })),
    [
      { what: 'audio', directives: { msn: 12, part: 3, skip: true } },
      { what: 'audio', directives: {} },
    ],
  );
});

test('errors are answered with their own status, and no cache may keep them', async (t) => {
  const { app } = await originOf(t, ({ what }) => {
    if (what === 'far') return { type: 'bad_request', reason: 'too far ahead' };
    return what === 'late' ? { type: 'timeout' } : { type: 'not_found' };
  });
  const table: [string, number, string][] = [
    [`${media}/far.m3u8?_HLS_msn=99`, 400, 'invalid_request'],
    [`${media}/none.m3u8?_HLS_msn=1`, 404, 'not_found'],
    [`${media}/none.m3u8`, 404, 'not_found'],
    [`${media}/late.m3u8?_HLS_msn=1`, 503, 'playlist_timeout'],
    [`${media}/a.m3u8?_HLS_part=1`, 400, 'invalid_request'],
    [`${media}/a.m3u8?_HLS_msn=-1`, 400, 'invalid_request'],
    [`/hls/${playbackId}/${newMediaPath()}/a.m3u8`, 404, 'not_found'],
    [`${media}/a.txt`, 404, 'not_found'],
    [`${media}/..%2f..%2fa.m3u8`, 404, 'not_found'],
    [`${media}/source/none.m4s`, 404, 'not_found'],
    [`${media}/source/..%2fa`, 404, 'not_found'],
    [`${media}/source/%00`, 404, 'not_found'],
    [`/hls/${playbackId}/thumbnail.jpg`, 404, 'not_found'],
  ];
  for (const [url, status, code] of table) {
    const response = await app.inject(url);
    assert.equal(response.statusCode, status, url);
    assert.equal(response.json().code, code, url);
    assert.equal(response.headers['cache-control'], 'no-store', url);
    assert.equal(response.headers['access-control-allow-origin'], '*', url);
  }
});

test('caches keep an answer under the one URL of its resource, and under no other spelling of that URL', async (t) => {
  const { app } = await originOf(
    t,
    ({ what, directives }) =>
      what.includes('/') ? segment('0') : playlist('', directives?.msn === undefined ? 'current' : 'final'),
    {},
    () => Buffer.from('picture'),
  );
  const list = `${media}/source.m3u8`;
  const thumbnail = `/hls/${playbackId}/thumbnail.jpg`;
  const kept = [
    index,
    thumbnail,
    list,
    `${list}?_HLS_skip=YES`,
    `${list}?_HLS_msn=0`,
    `${list}?_HLS_msn=12&_HLS_part=3`,
    `${list}?_HLS_msn=12&_HLS_part=3&_HLS_skip=YES`,
    `${media}/source/12.3.m4s`,
  ];
  const notKept = [
    `${index}?a=1`,
    `${index}/`,
    `${thumbnail}?a=1`,
    `${list}?_HLS_part=3&_HLS_msn=12`,
    `${list}?_HLS_msn=012`,
    `${list}?_HLS_msn=%312`,
    `${list}?_HLS_msn=12&a=1`,
    `${list}?_HLS_msn=12&`,
    `${list}?_HLS_msn=12&_HLS_report=x`,
    `${list}?_HLS_skip=NO`,
    `${list}?_HLS_skip=v2`,
    `${list.replace('source', '%73ource')}`,
    `${media}/source/12.3.m4s?a=1`,
    `${media}/source/%312.3.m4s`,
    `${media}/source/12.3.m4s/`,
  ];
  for (const url of [...kept, ...notKept]) {
    const { statusCode, headers } = await app.inject({ url, headers: { 'accept-encoding': 'identity' } });
    assert.equal(statusCode, 200, url);
    assert.equal(headers['cache-control'] !== 'no-store', kept.includes(url), url);
  }
});

test('caches may not keep a playlist that was requested with a position long past', async (t) => {
  const { app } = await originOf(t, () => playlist('', 'unshared'));
  const { statusCode, headers } = await app.inject(`${media}/source.m3u8?_HLS_msn=1`);
  assert.deepEqual([statusCode, headers['cache-control']], [200, 'no-store']);
});

test('media is sent whole, in ranges, or without a body when the viewer has it', async (t) => {
  const { app, asked } = await originOf(t, () => segment('0123', '', '456789'));
  const url = `${media}/source/12.m4s`;
  const whole = await app.inject(url);
  assert.equal(whole.statusCode, 200);
  assert.equal(whole.body, '0123456789');
  assert.equal(whole.headers['content-type'], 'video/mp4');
  assert.equal(whole.headers['cache-control'], 'max-age=24, immutable');
  assert.equal(whole.headers['cross-origin-resource-policy'], 'cross-origin');
  assert.equal(asked[0]?.what, 'source/12.m4s');

  const part = await app.inject({ url, headers: { range: 'bytes=2-5' } });
  assert.equal(part.statusCode, 206);
  assert.equal(part.body, '2345');
  assert.equal(part.headers['content-range'], 'bytes 2-5/10');
  assert.equal(part.headers['content-length'], '4');

  const head = await app.inject({ url, method: 'HEAD', headers: { range: 'bytes=-3' } });
  assert.equal(head.statusCode, 200, 'ranges apply to GET only');
  assert.equal(head.headers['content-length'], '10');
  assert.equal(head.body, '');

  const beyond = await app.inject({ url, headers: { range: 'bytes=10-' } });
  assert.equal(beyond.statusCode, 416);
  assert.equal(beyond.headers['content-range'], 'bytes */10');
  assert.equal(beyond.headers['cache-control'], 'no-store', 'caches would give it to requests for the whole resource');

  const etag = String(whole.headers.etag);
  const changed = await app.inject({ url, headers: { range: 'bytes=2-5', 'if-range': '"other"' } });
  assert.equal(changed.statusCode, 200);
  const same = await app.inject({ url, headers: { range: 'bytes=2-5', 'if-range': etag } });
  assert.equal(same.statusCode, 206);
  const known = await app.inject({ url, headers: { 'if-none-match': `"other", W/${etag}` } });
  assert.equal(known.statusCode, 304);
  assert.equal(known.body, '');
});

test('renditions whose profile names cannot be part of an address are found by their numbers', async (t) => {
  const { app, asked } = await originOf(t, ({ directives }) => (directives ? playlist('') : segment('0')));
  assert.equal((await app.inject(`${media}/~2.m3u8`)).statusCode, 200);
  assert.equal((await app.inject(`${media}/~2/12.m4s`)).statusCode, 200);
  assert.deepEqual(
    asked.map(({ what }) => what),
    ['~2', '~2/12.m4s'],
  );
});

test('a preflight from any site is answered at once and may be kept for a day', async (t) => {
  const { app } = await originOf(t, () => playlist(''));
  const response = await app.inject({
    method: 'OPTIONS',
    url: `${media}/source/1.m4s`,
    headers: { origin: 'https://a' },
  });
  assert.equal(response.statusCode, 204);
  assert.equal(response.headers['access-control-allow-origin'], '*');
  assert.equal(response.headers['access-control-max-age'], '86400');
});

test('not one byte of a part is sent before the part is complete', async (t) => {
  const part = Promise.withResolvers<MediaAnswer>();
  const { app, asked } = await originOf(t, () => part.promise);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (bytes) => (received += String(bytes)));
  socket.write(`GET ${media}/source/1.0.m4s HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(() => asked.length === 1);
  await turn();
  assert.equal(received, '');
  part.resolve(segment('all', 'of', 'it'));
  await until(() => received.endsWith('allofit'));
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  socket.destroy();
});

test('a held request ends at once when its viewer leaves, and the gauges show it', async (t) => {
  const { app, asked, metrics, viewers } = await originOf(t, ({ waiting }) => pending(waiting.signal));
  const gauge = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics.registry.metrics())?.[1]);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`GET ${media}/source.m3u8?_HLS_msn=5 HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(() => asked.length === 1);
  assert.equal(asked[0]?.waiting.signal.aborted, false);
  assert.equal(await gauge('millrace_held_requests_count'), 1);
  assert.equal(viewers.countOf(playbackId), 1);
  socket.destroy();
  await until(() => asked[0]?.waiting.signal.aborted === true);
  assert.equal(await gauge('millrace_held_requests_count'), 0);
});

test('each reason of refusals is counted from 0, so that the first refusals are an increase', async (t) => {
  const { metrics } = await originOf(t, ({ waiting }) => pending(waiting.signal));
  assert.match(await metrics.registry.metrics(), /^millrace_playback_refusals_total\{reason="webhook_failed"\} 0$/m);
});

test('when the limit of waiting requests is reached, another one is refused, but media that exists is still served', async (t) => {
  const { app, asked, metrics } = await originOf(
    t,
    ({ what, waiting }) => (what.includes('9') || what === 'late' ? pending(waiting.signal) : segment('here')),
    { maxHeldRequests: 1 },
  );
  const first = app.inject(`${media}/late.m3u8?_HLS_msn=5`);
  await until(() => asked.length === 1);
  const second = await app.inject(`${media}/source/9.1.m4s`);
  assert.equal(second.statusCode, 503);
  assert.equal(second.json().code, 'too_many_viewers');
  assert.equal(second.headers['cache-control'], 'no-store');
  const existing = await app.inject(`${media}/source/8.m4s`);
  assert.deepEqual([existing.statusCode, existing.body], [200, 'here']);
  assert.match(await metrics.registry.metrics(), /^millrace_held_requests_count 1$/m);
  await app.close();
  assert.equal((await first).statusCode, 503);
});

/** Sends a request from one of the machine's loopback addresses. */
function getFrom(localAddress: string, url: string, headers: Record<string, string> = {}) {
  const status = Promise.withResolvers<number>();
  const asked = request(url, { localAddress, agent: false, headers }, (response) => {
    response.resume();
    status.resolve(response.statusCode ?? 0);
  });
  asked.on('error', () => status.resolve(0)).end();
  return { status: status.promise, leave: () => asked.destroy() };
}

test('an address that takes all places for waiting does not keep others from waiting or from getting media that exists', async (t) => {
  const part = Promise.withResolvers<MediaAnswer>();
  const { app, metrics } = await originOf(
    t,
    ({ what, waiting }) => {
      if (what === 'source/8.m4s') return segment('here');
      return what === 'source/9.0.m4s'
        ? Promise.race([part.promise, pending<MediaAnswer>(waiting.signal)])
        : pending(waiting.signal);
    },
    { maxHeldRequests: 20 },
  );
  const isHolding = async (count: number) =>
    (await metrics.registry.metrics()).includes(`\nmillrace_held_requests_count ${count}\n`);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const attack = Array.from({ length: 40 }, (_, n) => getFrom('127.0.9.1', `${address}${media}/source/99.${n}.m4s`));
  while (!(await isHolding(20))) await turn();
  const others = Array.from({ length: 10 }, (_, n) => getFrom(`127.1.${n}.1`, `${address}${media}/source/9.0.m4s`));
  assert.equal(await getFrom('127.0.8.1', `${address}${media}/source/8.m4s`).status, 200);
  const refused = () => Promise.all(attack.map(({ status }) => Promise.race([status, turn('waits')])));
  while ((await refused()).filter((status) => status === 503).length < 30) await turn();
  part.resolve(segment('there'));
  assert.deepEqual(await Promise.all(others.map(({ status }) => status)), Array(10).fill(200));
  for (const { leave } of attack) leave();
});

test('an address that invents viewers does not keep out viewers from other addresses', async (t) => {
  const { app, viewers } = await originOf(t, () => playlist('#EXTM3U\n'), { maxViewers: 10 });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  for (let invented = 0; invented < 30; invented += 1) {
    await getFrom('127.0.9.1', `${address}${index}`, { 'user-agent': `invented ${invented}` }).status;
  }
  assert.equal(viewers.count, 10);
  for (const host of ['127.0.1.1', '127.0.2.1', '127.0.3.1']) {
    assert.equal(await getFrom(host, `${address}${index}`).status, 200, host);
  }
});

test('closing the server ends held requests with a 503', async (t) => {
  const { app, asked } = await originOf(t, ({ waiting }) => pending(waiting.signal));
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const answer = fetch(`${address}${media}/source/9.1.m4s`, { headers: { connection: 'close' } });
  await until(() => asked.length === 1);
  const closed = app.close();
  const response = await answer;
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { code: 'shutting_down' });
  await closed;
});

test('new viewers above the limit are refused at the multivariant playlist, and present viewers go on watching', async (t) => {
  const { app } = await originOf(t, () => playlist('#EXTM3U\n'), { maxViewers: 1 });
  const first = { 'user-agent': 'first' };
  const second = { 'user-agent': 'second' };
  assert.equal((await app.inject({ url: index, headers: first })).statusCode, 200);
  const refused = await app.inject({ url: index, headers: second });
  assert.equal(refused.statusCode, 503);
  assert.equal(refused.json().code, 'too_many_viewers');
  assert.equal(refused.headers['cache-control'], 'no-store');
  assert.equal((await app.inject({ url: index, headers: first })).statusCode, 200);
  assert.equal((await app.inject({ url: `${media}/source.m3u8`, headers: second })).statusCode, 200);
});

test('a viewer who comes before the first part waits for it', async (t) => {
  const first = Promise.withResolvers<PlaylistAnswer>();
  const { app, asked } = await originOf(t, () => first.promise);
  const early = app.inject(index);
  await until(() => asked.length === 1);
  first.resolve(playlist('#EXTM3U\n'));
  assert.equal((await early).statusCode, 200);
});

test('a viewer who comes before a first part that is never made is told to try again', async (t) => {
  const { app } = await originOf(t, () => ({ type: 'timeout' }));
  const response = await app.inject(index);
  assert.equal(response.statusCode, 503);
  assert.equal(response.json().code, 'playlist_timeout');
});

test('a session that ended before its first part is offline', async (t) => {
  const { app } = await originOf(t, () => ({ type: 'not_found' }));
  assert.equal((await app.inject(index)).json().code, 'stream_offline');
});

test('a connection that reads none of the bytes it requested is closed after half a minute', async (t) => {
  const { app } = await originOf(t, () => segment('x'.repeat(20_000_000)));
  let serverSide: Socket | undefined;
  app.server.on('connection', (socket) => (serverSide = socket));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  socket.write(`GET ${media}/source/1.m4s HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(() => (serverSide?.writableLength ?? 0) > 0);
  assert.equal(serverSide?.timeout, 30_000);
  socket.destroy();
});

test('the thumbnail is the newest image, cacheable for a moment, and requests for it do not count as viewers', async (t) => {
  let thumbnail: Uint8Array | undefined = Buffer.from('first');
  const { app, viewers } = await originOf(
    t,
    () => playlist(''),
    {},
    () => thumbnail,
  );
  const url = `/hls/${playbackId}/thumbnail.jpg`;
  const first = await app.inject(url);
  assert.equal(first.statusCode, 200);
  assert.equal(first.body, 'first');
  assert.equal(first.headers['content-type'], 'image/jpeg');
  assert.equal(first.headers['cache-control'], 'max-age=5');
  assert.equal(first.headers['access-control-allow-origin'], '*');
  const head = await app.inject({ method: 'HEAD', url });
  assert.deepEqual([head.statusCode, head.body, head.headers['content-length']], [200, '', '5']);
  const etag = String(first.headers.etag);
  const again = await app.inject({ url, headers: { 'if-none-match': etag } });
  assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', etag]);

  thumbnail = Buffer.from('second');
  const second = await app.inject({ url, headers: { 'if-none-match': etag } });
  assert.deepEqual([second.statusCode, second.body], [200, 'second']);
  assert.notEqual(second.headers.etag, etag);
  assert.equal(viewers.count, 0);
});

test('without an image, and while the stream is offline, the thumbnail is not found, which no cache may keep', async (t) => {
  const { app } = await originOf(t, () => playlist(''));
  const none = await app.inject(`/hls/${playbackId}/thumbnail.jpg`);
  assert.deepEqual([none.statusCode, none.json().code], [404, 'not_found']);
  assert.equal(none.headers['cache-control'], 'no-store');
  assert.equal(none.headers['access-control-allow-origin'], '*');
  for (const id of [newPlaybackId(), 'x']) {
    const offline = await app.inject(`/hls/${id}/thumbnail.jpg`);
    assert.deepEqual([offline.statusCode, offline.json().code], [404, 'stream_offline']);
    assert.equal(offline.headers['cache-control'], 'no-store');
  }
});
