import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { startApi } from './server.ts';

const profile = { name: 'a', bitrate: 1000, fps: 30, width: 640, height: 360 };

/** Bodies of `POST /stream` that are refused: the status, and what the sentence must name. */
const REFUSED: readonly (readonly [title: string, body: unknown, status: number, names: RegExp])[] = [
  ['no name', {}, 422, /^The field name is missing; send text/],
  ['an empty name', { name: '' }, 422, /^The field name must not be empty/],
  ['a name of 513 characters', { name: 'x'.repeat(513) }, 422, /^The field name must have at most 512 characters/],
  ['a name with U+0000', { name: 'a\0b' }, 422, /^The field name .*without U\+0000/],
  ['half of a surrogate pair', '{"name":"\\ud83d"}', 422, /^The field name .*unpaired surrogates/],
  ['a number as name', { name: 7 }, 422, /^The field name must be of type string/],
  ['null as name', { name: null }, 422, /^The field name must be of type string/],
  ['an unknown key', { name: 'x', colour: 'red' }, 422, /^The field colour is unknown/],
  ...['id', 'kind', 'userId', 'createdAt', 'streamKey', 'playbackId', 'isActive', 'suspended', 'parentId'].map(
    (field) =>
      [`${field}, which the server sets`, { name: 'x', [field]: 'y' }, 422, RegExp(`^The field ${field} `)] as const,
  ),
  ['__proto__', '{"name":"x","__proto__":{"name":"y"}}', 422, /^The field __proto__ is unknown/],
  ['an array', [], 422, /^The body must be of type object/],
  ['the literal null', 'null', 422, /^The body must be of type object/],
  ['a string', '"x"', 422, /^The body must be of type object/],
  ['malformed JSON', '{"name":', 400, /^The body is not valid JSON/],
  ['an empty body', '', 422, /^The body must be of type object/],
  ['a body that is too large', { name: 'x'.repeat(102_400) }, 413, /larger than 102400 bytes/],
  [
    'a number beyond all numbers',
    '{"name":"x","profiles":[{"name":"a","bitrate":1e400,"fps":1,"width":200,"height":200}]}',
    422,
    /^The field profiles\[0\]\.bitrate must be of type integer/,
  ],
  ['profiles as an object', { name: 'x', profiles: {} }, 422, /^The field profiles must be of type array or null/],
  ['a profile that is null', { name: 'x', profiles: [null] }, 422, /^The field profiles\[0\] must be of type object/],
  ['17 profiles', { name: 'x', profiles: Array(17).fill(profile) }, 422, /^The field profiles must have at most 16/],
  ...(['name', 'bitrate', 'fps', 'width', 'height'] as const).map((field) => {
    const { [field]: _, ...rest } = profile;
    return [
      `a profile without ${field}`,
      { name: 'x', profiles: [rest] },
      422,
      RegExp(`^The field profiles\\[0\\]\\.${field} is missing; send `),
    ] as const;
  }),
  ...(
    [
      ['name', ''],
      ['name', 'line\nbreak'],
      ['name', 'source'],
      ['bitrate', '1000'],
      ['bitrate', 1000.5],
      ['bitrate', 399],
      ['bitrate', 200_000_001],
      ['fps', -1],
      ['fps', 241],
      ['fps', true],
      ['width', 127],
      ['width', 8193],
      ['height', null],
      ['fpsDen', 0],
      ['gop', 2],
      ['gop', 'sometimes'],
      ['profile', 'H264Extended'],
      ['quality', 45],
      ['encoder', 'HEVC'],
      ['preset', 'fast'],
    ] as const
  ).map(
    ([field, value]) =>
      [
        `a profile with ${field} ${JSON.stringify(value)}`,
        { name: 'x', profiles: [profile, { ...profile, name: 'b', [field]: value }] },
        422,
        RegExp(`^The field profiles\\[1\\]\\.${field} `),
      ] as const,
  ),
  [
    'two profiles of one name',
    { name: 'x', profiles: [profile, profile] },
    422,
    /^The field profiles\[1\]\.name is the same as profiles\[0\]\.name/,
  ],
];

test('a body from which no stream can be created is refused with a sentence that names the field', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const [title, body, status, names] of REFUSED) {
    const response = await api.call('POST', '/stream', { key, body });
    assert.equal(response.statusCode, status, `${title}: ${response.body}`);
    const { errors, code, requestId, ...rest } = response.json();
    assert.deepEqual(rest, {}, title);
    assert.equal(errors.length, 1, title);
    assert.match(errors[0], names, title);
    assert.match(errors[0], /\.$/, title);
    assert.match(code, /^[a-z_]+$/, title);
    assert.equal(requestId, response.headers['x-request-id'], title);
  }
  assert.deepEqual((await api.call('GET', '/stream', { key })).json(), [], 'nothing was created');
});

test('names of 1 and of 512 characters outside the Basic Multilingual Plane are accepted', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const name of ['𝒳', '𝒳'.repeat(512)]) {
    assert.equal((await api.call('POST', '/stream', { key, body: { name } })).statusCode, 201);
  }
  assert.equal((await api.call('POST', '/stream', { key, body: { name: '𝒳'.repeat(513) } })).statusCode, 422);
});

test('only JSON is accepted, whatever its charset parameter is', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const post = (type: string | undefined, payload: string | Buffer) =>
    api.http.inject({
      method: 'POST',
      url: '/api/stream',
      headers: { authorization: `Bearer ${key.secret}`, ...(type !== undefined && { 'content-type': type }) },
      payload,
    });
  for (const type of [
    'text/plain',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'application/octet-stream',
    'nonsense',
    undefined,
  ]) {
    const response = await post(type, '{"name":"x"}');
    assert.equal(response.statusCode, 415, String(type));
    assert.equal(response.json().code, 'unsupported_media_type');
  }
  assert.equal((await post(undefined, 'x'.repeat(200_000))).statusCode, 415); // not 413, because the client must correct the type
  assert.equal((await post('application/json; charset=utf-8', '{"name":"x"}')).statusCode, 201);
  const latin1 = await post('application/json', Buffer.from('{"name":"\xe9"}', 'latin1'));
  assert.equal(latin1.statusCode, 400);
  assert.match(latin1.json().errors[0], /UTF-8/);
});

test('an unknown key is named only when it is short and plain', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const name of [key.secret, '7f3q-x0m2-9kdp-4rtz', 'a b', 'k'.repeat(32), '<script>', '\u202e']) {
    const response = await api.call('POST', '/stream', { key, body: { name: 'x', [name]: 1 } });
    assert.equal(response.statusCode, 422);
    assert.match(response.json().errors[0], /^A field of the body is unknown/);
    assert.ok(!response.body.includes(name));
  }
});

test('a wrong limit or cursor is refused with the correct form', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  for (const limit of ['0', '-1', '1001', '1e2', '0x10', '', 'all', '2.5', ' 2', '99999999999999999999']) {
    const response = await api.call('GET', `/stream?limit=${limit}`, { key });
    assert.equal(response.statusCode, 400, limit);
    assert.match(response.json().errors[0], /^The query parameter limit must .*from 1 to 1000\.$/, limit);
  }
  const twice = await api.call('GET', '/stream?limit=1&limit=2', { key });
  assert.deepEqual(
    [twice.statusCode, twice.json().errors],
    [400, ['The query parameter limit must be given only once.']],
  );
  for (const cursor of ['', 'x', 'skip20', 'MTox', '1&cursor=2']) {
    const response = await api.call('GET', `/stream?cursor=${cursor}`, { key });
    assert.equal(response.statusCode, 400, cursor);
    assert.match(response.json().errors[0], /^The query parameter cursor /, cursor);
  }
});

test('an unknown path is answered 404 before any other check', async (t) => {
  const api = await startApi(t);
  for (const [method, path] of [
    ['GET', '/nothing'],
    ['PUT', '/stream/a/b/c'],
  ] as const) {
    const response = await api.call(method, path, { body: '{' });
    assert.equal(response.statusCode, 404, path);
    assert.equal(response.json().code, 'not_found');
    assert.equal(response.headers.allow, undefined);
  }
});

test('every path of the API refuses unsupported methods with 405, and names the supported ones in Allow', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json<{ paths: Record<string, object> }>();
  const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const;
  let refused = 0;
  for (const [pattern, operations] of Object.entries(paths)) {
    const path = pattern.replace(/\{\w+\}/g, '66e2161c-7670-4d05-b71d-da2d6979556f');
    for (const method of methods.filter((each) => !(each.toLowerCase() in operations))) {
      const { statusCode, headers, body } = await api.call(method, path, { body: '{' });
      if (statusCode !== 405) {
        // `DELETE /user/me` is `DELETE /user/<id>` to the router, and asks for an API key.
        assert.equal(statusCode, 401, `${method} ${path}: ${body}`);
        continue;
      }
      refused += 1;
      assert.equal(JSON.parse(body).code, 'method_not_allowed');
      const allowed = String(headers.allow).split(', ');
      assert.ok(!allowed.includes(method), `${method} ${path}`);
      for (const operation of Object.keys(operations)) assert.ok(allowed.includes(operation.toUpperCase()), path);
    }
  }
  assert.ok(refused > 40, `${refused} refused`);
});

test('during an outage of the store every operation answers 503 with Retry-After', async (t) => {
  let away = false;
  const api = await startApi(t, {}, (store) => {
    const fail = () => Promise.reject(new MillraceError('store_unavailable', 'The store does not answer; try again.'));
    return {
      ...store,
      streams: new Proxy(store.streams, { get: (it, name) => (away ? fail : Reflect.get(it, name)) }),
      sessions: new Proxy(store.sessions, { get: (it, name) => (away ? fail : Reflect.get(it, name)) }),
    };
  });
  const key = await api.makeKey('ann');
  away = true;
  for (const [method, path, body] of [
    ['POST', '/stream', { name: 'x' }],
    ['GET', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f', undefined],
    ['GET', '/stream', undefined],
    ['GET', '/stream?sessionsonly=1', undefined],
    ['PATCH', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f', { name: 'y' }],
    ['PATCH', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f/record', { record: true }],
    ['DELETE', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f', undefined],
    ['DELETE', '/stream', { ids: ['66e2161c-7670-4d05-b71d-da2d6979556f'] }],
    ['DELETE', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f/terminate', undefined],
    ['POST', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f/rotate-key', undefined],
    ['GET', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f/info', undefined],
    ['GET', '/stream/66e2161c-7670-4d05-b71d-da2d6979556f/sessions', undefined],
    ['GET', '/stream/key/7f3q-x0m2-9kdp-4rtz', undefined],
    ['GET', '/stream/playback/abcdefgh12345678', undefined],
    ['GET', '/session', undefined],
    ['GET', '/session/66e2161c-7670-4d05-b71d-da2d6979556f', undefined],
    ['GET', '/data/views/now?playbackId=abcdefgh12345678', undefined],
    ['GET', '/playback/abcdefgh12345678', undefined],
  ] as const) {
    const response = await api.call(method, path, { key, body });
    assert.equal(response.statusCode, 503, path);
    assert.equal(response.json().code, 'store_unavailable');
    assert.ok(Number(response.headers['retry-after']) >= 1);
  }
  assert.equal((await api.http.inject('/healthz')).statusCode, 200, 'live viewers need no store');
});

test('an unexpected failure reveals nothing in its answer, and is logged with the request id', async (t) => {
  const api = await startApi(t, {}, (store) => ({
    ...store,
    streams: { ...store.streams, create: () => Promise.reject(new Error('inner detail')) },
  }));
  const key = await api.makeKey('ann');
  const response = await api.call('POST', '/stream', { key, body: { name: 'x' } });
  assert.equal(response.statusCode, 500);
  assert.equal(response.json().code, 'internal_error');
  assert.ok(!response.body.includes('inner detail'));
  const line = api.lines.find((each) => each.includes('inner detail'));
  assert.equal(JSON.parse(line ?? '{}').requestId, response.json().requestId);
});

test('a web page may call the API and read its errors', async (t) => {
  const api = await startApi(t);
  const preflight = await api.call('OPTIONS', '/stream', {
    headers: {
      origin: 'https://studio.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
  assert.equal(preflight.statusCode, 204);
  assert.equal(preflight.headers['access-control-allow-origin'], '*');
  assert.match(String(preflight.headers['access-control-allow-headers']), /authorization/);
  const refused = await api.call('GET', '/stream', { headers: { origin: 'https://studio.example' } });
  assert.equal(refused.statusCode, 401);
  assert.equal(refused.headers['access-control-allow-origin'], '*');
  assert.match(String(refused.headers['access-control-expose-headers']), /link/i);
});

test('an empty body with a content type is the same as none, and is accepted wherever no field is required', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const { id } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const hook = { name: 'x', url: 'https://example.com/', events: [] };
  const webhook = (await api.call('POST', '/webhook', { key, body: hook })).json();
  const signing = (await api.call('POST', '/access-control/signing-key', { key, body: {} })).json();
  for (const [method, path, status] of [
    ['POST', '/api-token', 201],
    ['POST', '/access-control/signing-key', 200],
    ['PATCH', `/access-control/signing-key/${signing.id}`, 204],
    ['PATCH', `/stream/${id}`, 204],
    ['PATCH', `/webhook/${webhook.id}`, 204],
    ['PATCH', `/user/${key.userId}`, 204],
    ['PUT', `/webhook/${webhook.id}`, 422],
    ['POST', '/stream', 422],
  ] as const) {
    assert.equal((await api.call(method, path, { key })).statusCode, status, `${method} ${path} without a body`);
    const response = await api.call(method, path, { key, body: '' });
    assert.equal(response.statusCode, status, `${method} ${path} with an empty body`);
  }
});
