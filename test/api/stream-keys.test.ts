/**
 * Calls every operation of the OpenAPI document and searches the answers for keys.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AccessRule } from '#domain/user.ts';
import { someSession } from '#test/support/sample-records.ts';
import { startApi, type TestKey } from './server.ts';

/** The operations that may show a stream key, and only to the stream's user and to admins who ask for those of others. */
const MAY_SHOW = new Set([
  'createStream',
  'getStream',
  'getStreams',
  'getStreamByKey',
  'getStreamByPlaybackId',
  'getStreamInfo',
  'rotateStreamKey',
]);

/** The parts of the document that are used. */
interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      {
        readonly operationId: string;
        readonly parameters?: readonly { readonly in: string; readonly name: string }[];
        readonly requestBody?: { readonly content: { 'application/json': { schema: { $ref: string } } } };
      }
    >
  >;
  readonly components: { readonly schemas: Record<string, { readonly examples?: readonly object[] }> };
}

/** Every object in an answer that has a stream key. */
function keyHolders(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return [...('streamKey' in holder ? [holder] : []), ...Object.values(holder).flatMap(keyHolders)];
}

test('operations show a stream key only to the user of the stream and to an admin who asks for others, and none shows it in a session', async (t) => {
  const api = await startApi(t, { MILLRACE_WRONG_KEYS_PER_MINUTE: '10000' });
  const [ann, bob, admin] = [await api.makeKey('ann'), await api.makeKey('bob'), await api.makeKey('admin')];
  const reader = await api.makeKey('ann', 'reader', undefined, [
    { resources: ['*'], methods: ['get', 'patch', 'delete'] },
  ]);
  const document = (await api.call('GET', '/openapi.json')).json<Document>();
  const shown = new Set<string>();
  /** Makes a stream with a session, calls one operation with each of its names, and collects the answers. */
  async function ask(operationId: string, method: string, path: string, key: TestKey | undefined) {
    const operation = document.paths[path]![method]!;
    const made = await api.call('POST', '/stream', { key: ann, body: { name: 'x' } });
    const { id, playbackId, streamKey } = made.json();
    const session = someSession((await api.store.streams.get(id, 'everyone'))!);
    await api.store.sessions.create(session);
    const names = path.includes('{') ? [id, session.id, playbackId, streamKey] : [''];
    const queries = method === 'get' ? ['', `?playbackId=${playbackId}`, '?sessionsonly=1', '?all=1'] : ['', '?all=1'];
    const example = operation.requestBody?.content['application/json'].schema.$ref.split('/').at(-1);
    const body = example === undefined ? undefined : document.components.schemas[example]?.examples?.[0];
    for (const name of names) {
      for (const query of queries) {
        const url = path.replace(/\{\w+\}/, name) + query;
        const answer = await api.call(method.toUpperCase() as 'GET', url, { ...(key && { key }), body });
        for (const holder of keyHolders(answer.body === '' ? undefined : answer.json())) {
          assert.ok(MAY_SHOW.has(operationId) && holder.kind === 'stream' && !('parentId' in holder), url);
          assert.ok(holder.userId === key?.userId || (key === admin && query === '?all=1'), url);
          shown.add(operationId);
        }
        const isSession = name === session.id && operationId !== 'getStreamInfo';
        const mayShow =
          MAY_SHOW.has(operationId) && (key === ann || (key === admin && query === '?all=1')) && !isSession;
        const text = JSON.stringify(answer.headers) + answer.body;
        if (!mayShow) assert.ok(!text.includes(streamKey), `${method} ${url} ${answer.body}`);
        for (const { secret } of [ann, bob, admin, reader]) assert.ok(!text.includes(secret), url);
      }
    }
  }
  for (const [path, methods] of Object.entries(document.paths)) {
    // The answer does not end by itself, and shows the same events as GET /event.
    if (path === '/event/stream') continue;
    for (const [method, { operationId }] of Object.entries(methods)) {
      for (const key of [ann, bob, admin, reader, undefined]) await ask(operationId, method, path, key);
    }
  }
  assert.deepEqual(shown, MAY_SHOW, 'all of them were really asked');
});

test('an API key with rules sees and uses the stream keys of streams that it may publish to, and those it creates', async (t) => {
  const api = await startApi(t);
  const owner = await api.makeKey('ann');
  const [mine, other] = [
    (await api.call('POST', '/stream', { key: owner, body: { name: 'x' } })).json(),
    (await api.call('POST', '/stream', { key: owner, body: { name: 'y' } })).json(),
  ];
  const keyWith = (name: string, rules: readonly AccessRule[]) => api.makeKey('ann', name, undefined, rules);
  const reader = await keyWith('reader', [{ resources: ['*'], methods: ['get'] }]);
  const publisher = await keyWith('publisher', [
    { resources: ['stream', 'stream/*'], methods: ['get'] },
    { resources: [`stream/${mine.id}`], methods: ['publish'] },
  ]);
  const maker = await keyWith('maker', [{ resources: ['stream', 'stream/:id/rotate-key'], methods: ['post'] }]);

  const seen = async (key: TestKey) =>
    (await api.call('GET', '/stream?order=createdAt-false', { key })).json().map((each: object) => 'streamKey' in each);
  assert.deepEqual(await seen(reader), [false, false]);
  assert.deepEqual((await seen(publisher)).toSorted(), [false, true]);
  assert.deepEqual(await seen(owner), [true, true]);
  for (const [key, streamKey, status] of [
    [reader, mine.streamKey, 404],
    [publisher, mine.streamKey, 200],
    [publisher, other.streamKey, 404],
    [owner, other.streamKey, 200],
  ] as const) {
    for (const path of [`/stream/key/${streamKey}`, `/stream/${streamKey}/info`]) {
      assert.equal((await api.call('GET', path, { key })).statusCode, status, path);
    }
  }
  const made = await api.call('POST', '/stream', { key: maker, body: { name: 'z' } });
  assert.match(made.json().streamKey, /^\w{4}(-\w{4}){3}$/);
  const rotated = await api.call('POST', `/stream/${mine.id}/rotate-key`, { key: maker });
  assert.match(rotated.json().streamKey, /^\w{4}(-\w{4}){3}$/);
});

test('an API key that may not use stream keys cannot create one that may', async (t) => {
  const api = await startApi(t);
  const everyMethod = ['get', 'post', 'patch', 'put', 'delete'];
  const key = await api.makeKey('ann', 'limited', undefined, [{ resources: ['*'], methods: everyMethod }]);
  const make = (methods: readonly string[] | undefined) =>
    api.call('POST', '/api-token', { key, body: { access: { rules: [{ resources: ['stream/*'], methods }] } } });
  for (const methods of [undefined, ['*'], ['publish'], ['get', 'publish']]) {
    assert.equal((await make(methods)).json().code, 'insufficient_scope', String(methods));
  }
  assert.equal((await make(['get'])).statusCode, 201);
});

test('one function of the API reveals stream keys', () => {
  const folder = join(import.meta.dirname, '../../src/api');
  const revealing = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => /streamKey\.reveal\(/.test(readFileSync(join(folder, file), 'utf8')));
  assert.deepEqual(revealing, ['stream-key.ts']);
});
