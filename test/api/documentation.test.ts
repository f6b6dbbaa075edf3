import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { routes } from '#api/routes.ts';
import { ErrorSchema } from '#api/schemas/error.ts';
import { IngestSchema } from '#api/schemas/ingest.ts';
import { PlaybackSchema } from '#api/schemas/playback.ts';
import { ProfileSchema } from '#api/schemas/profile.ts';
import { SessionSchema } from '#api/schemas/session.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { StreamInfoSchema } from '#api/schemas/stream-info.ts';
import { ViewershipSchema } from '#api/schemas/viewership.ts';
import { SCHEMAS } from '#api/schemas.ts';
import { someSession } from '#test/support/sample-records.ts';
import { startApi } from './server.ts';

/** The parts of the document that the tests read. */
interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema>; readonly securitySchemes: object };
}

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Record<
    string,
    { readonly description: string; readonly content?: Content; readonly headers?: object }
  >;
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly description?: string;
  readonly schema: { readonly enum?: readonly unknown[] };
  readonly example?: unknown;
}

type Content = Record<string, { readonly schema: Schema }>;

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly examples?: readonly unknown[];
}

/** Whether an operation needs an API key: it names the way to send one. Every operation says either. */
function isNamed(security: object[] | undefined): boolean {
  assert.ok(security, 'an operation says who may call it');
  return security.length > 0;
}

/** All references inside a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : references(inner)));
}

/** Whether an answer matches its schema. References are resolved among the API's schemas. */
function conforms(schema: TSchema, answer: unknown): boolean {
  const context = Object.fromEntries(SCHEMAS.map((each) => [`${(each as { $id?: string }).$id}#`, each]));
  return Value.Check(context, schema, answer);
}

test('the document is OpenAPI 3.1 and describes every operation with its errors and who may call it', async (t) => {
  const api = await startApi(t);
  const response = await api.call('GET', '/openapi.json');
  const document = response.json<Document>();
  assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
  assert.match(document.openapi, /^3\.1\.\d$/);
  assert.deepEqual(document.servers, [{ url: '/api' }]);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security, responses }]) => {
      const who = isNamed(security) ? 'key' : 'anybody';
      return `${method.toUpperCase()} ${path} ${who} ${Object.keys(responses).join()}`;
    }),
  );
  const ofStreams = operations.filter((each) => / \/(stream|session|data|playback|ingest)\b/.test(each));
  assert.deepEqual(ofStreams.toSorted(), [
    'DELETE /stream key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'DELETE /stream/{id} key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'DELETE /stream/{id}/terminate key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'DELETE /stream/{id}/test-picture key 204,400,401,403,404,413,415,422,429,500,503,504',
    'GET /data/usage key 200,400,401,403,429,500,503',
    'GET /data/usage/query key 200,400,401,403,429,500,503',
    'GET /data/views/now key 200,400,401,403,404,429,500,501,503',
    'GET /data/views/query key 200,400,401,403,404,429,500,501,503',
    'GET /data/views/query/total/{playbackId} key 200,400,401,403,404,429,500,503',
    'GET /ingest anybody 200,400,500',
    'GET /playback/{playbackId} anybody 200,400,404,500,503',
    'GET /session key 200,400,401,403,429,500,503',
    'GET /session/{id} key 200,400,401,403,404,429,500,503',
    'GET /session/{id}/clips key 200,400,401,403,404,429,500,503',
    'GET /session/{id}/samples key 200,400,401,403,404,429,500,503',
    'GET /stream key 200,400,401,403,429,500,503',
    'GET /stream/key/{streamKey} key 200,400,401,403,404,429,500,503',
    'GET /stream/playback/{playbackId} key 200,400,401,403,404,429,500,503',
    'GET /stream/user/{id} key 200,400,401,403,429,500,503',
    'GET /stream/{id} key 200,400,401,403,404,429,500,503',
    'GET /stream/{id}/clips key 200,400,401,403,404,429,500,503',
    'GET /stream/{id}/info key 200,400,401,403,404,429,500,503',
    'GET /stream/{id}/playback-token key 200,400,401,403,404,429,500,503',
    'GET /stream/{id}/sessions key 200,400,401,403,404,429,500,503',
    'PATCH /stream/{id} key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'PATCH /stream/{id}/record key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'PATCH /stream/{id}/suspended key 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'POST /stream key 201,400,401,403,409,413,415,422,429,500,503,504',
    'POST /stream/{id}/rotate-key key 200,400,401,403,404,409,413,415,422,429,500,503,504',
    'POST /stream/{id}/test-picture key 200,400,401,403,404,409,413,415,422,429,500,503,504',
  ]);
  assert.equal(operations.length, routes.length - 1, 'all routes but the one that says what is not there');
});

test('no description in the document begins with a lower-case letter', async (t) => {
  const api = await startApi(t);
  const { body } = await api.call('GET', '/openapi.json');
  const descriptions: string[] = [];
  JSON.parse(body, (key, value) => {
    if (key === 'description' && typeof value === 'string') descriptions.push(value);
    return value;
  });
  assert.ok(descriptions.length > 100, `${descriptions.length} descriptions`);
  assert.deepEqual(
    descriptions.filter((text) => !/^[^\p{Ll}]/u.test(text)),
    [],
  );
});

test('every answer to a wrong request is in the document', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('admin');
  const { paths } = (await api.call('GET', '/openapi.json')).json<Document>();
  const { id, streamKey, playbackId } = (await api.call('POST', '/stream', { key, body: { name: 'x' } })).json();
  const json = { 'content-type': 'application/json' };
  const repeatable = { ...json, 'idempotency-key': 'one' };
  const requests = [
    { query: '?userId=nobody' },
    { query: '?all=maybe' },
    { headers: { host: 'no name' } },
    { headers: { 'content-type': 'text/plain' }, body: 'text' },
    { headers: { ...json, 'idempotency-key': '\u00fc' }, body: '{}' },
    { headers: repeatable, body: '{"name":"one"}' },
    { headers: repeatable, body: '{"name":"two"}' },
    ...['', '{', 'null', '[]', '{"unknown":1}', JSON.stringify('x'.repeat(110_000))].map((body) => ({ body })),
  ];
  for (const [path, methods] of Object.entries(paths)) {
    // Its answer goes on until somebody closes it; see events.test.ts.
    if (path === '/event/stream') continue;
    const real = path.replace('{id}', id).replace('{streamKey}', streamKey).replace('{playbackId}', playbackId);
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const { query = '', ...rest } of requests as {
        query?: string;
        headers?: Record<string, string>;
        body?: string;
      }[]) {
        const { statusCode } = await api.call(method.toUpperCase() as 'GET', real + query, { key, ...rest });
        assert.ok(`${statusCode}` in responses, `${method} ${path}${query} ${rest.body?.slice(0, 20)}: ${statusCode}`);
      }
    }
  }
});

test('an operation on owned objects says how an admin reaches those of others', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json<Document>();
  for (const [path, methods] of Object.entries(paths)) {
    if (!/^\/(stream|session|data|asset|task)\b/.test(path)) continue;
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      if ((method === 'post' && path === '/stream') || path === '/stream/user/{id}') continue;
      const names = parameters.map(({ name }) => name);
      for (const name of ['all', 'userId']) assert.ok(names.includes(name), `${method} ${path} ${name}`);
    }
  }
});

test('every operation has a name, a summary, a tag, examples of its input and output, and described parameters', async (t) => {
  const api = await startApi(t);
  const { paths, components } = (await api.call('GET', '/openapi.json')).json<Document>();
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (components.schemas[schema.$ref.split('/').at(-1)!] ?? {});
  const hasExamples = (schema: Schema): boolean =>
    schema.items ? hasExamples(schema.items) : (resolve(schema).examples ?? []).length > 0;
  const names = new Set<string>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, summary, tags, parameters = [], requestBody, responses } = operation;
      const which = `${method} ${path}`;
      assert.match(operationId ?? '', /^[a-z][A-Za-z]+$/, which);
      assert.ok(!names.has(operationId!), `${operationId} twice`);
      names.add(operationId!);
      assert.ok(summary && tags?.length === 1, which);
      for (const { name, description, schema, example } of parameters) {
        assert.ok(description, `${which} ${name}`);
        assert.ok(schema.enum ?? Value.Check(schema, example), `${which} ${name}, such as ${String(example)}`);
      }
      for (const [status, { description }] of Object.entries(responses)) {
        assert.match(description, /\.$/, `${which} ${status} is told of in a sentence`);
        assert.doesNotMatch(description, /Default Response/, `${which} ${status}`);
      }
      if (requestBody) assert.ok(hasExamples(requestBody.content['application/json']!.schema), `${which} takes`);
      const [given] = Object.entries(responses).filter(([status]) => status.startsWith('2') && status !== '204');
      const isStream = given?.[1].content !== undefined && 'text/event-stream' in given[1].content;
      if (given && !isStream) assert.ok(hasExamples(given[1].content!['application/json']!.schema), `${which} gives`);
    }
  }
});

test('every reference in the document leads to a named component', async (t) => {
  const api = await startApi(t);
  const document = (await api.call('GET', '/openapi.json')).json<Document>();
  const names = Object.keys(document.components.schemas);
  const schemaNames = SCHEMAS.map((schema) => String((schema as { $id?: string }).$id));
  assert.deepEqual(names.toSorted(), schemaNames.toSorted());
  const found = new Set(references(document));
  assert.ok(found.size > 0);
  for (const reference of found) {
    assert.ok(names.includes(reference.replace('#/components/schemas/', '')), reference);
  }
});

test('answers and examples match their schemas', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const created = await api.call('POST', '/stream', { key, body: { name: 'x' } });
  const { id, playbackId } = created.json();
  assert.ok(conforms(StreamSchema, created.json()));
  assert.ok(conforms(StreamSchema, (await api.call('GET', `/stream/${id}`, { key })).json()));
  assert.ok(conforms(Type.Array(StreamSchema), (await api.call('GET', '/stream', { key })).json()));
  const session = someSession((await api.store.streams.get(id, 'everyone'))!, { record: true });
  await api.store.sessions.create(session);
  assert.ok(conforms(StreamSchema, (await api.call('GET', `/stream/${session.id}`, { key })).json()));
  assert.ok(conforms(SessionSchema, (await api.call('GET', `/session/${session.id}`, { key })).json()));
  assert.ok(conforms(StreamInfoSchema, (await api.call('GET', `/stream/${playbackId}/info`, { key })).json()));
  const views = await api.call('GET', `/data/views/now?playbackId=${playbackId}`, { key });
  assert.ok(conforms(Type.Array(ViewershipSchema), views.json()));
  assert.ok(conforms(PlaybackSchema, (await api.call('GET', `/playback/${playbackId}`)).json()));
  assert.ok(conforms(Type.Array(IngestSchema), (await api.call('GET', '/ingest')).json()));
  assert.ok(conforms(ErrorSchema, (await api.call('GET', '/stream')).json()));
  for (const schema of SCHEMAS) {
    const { examples = [] } = schema as { examples?: unknown[] };
    for (const example of examples) assert.ok(conforms(schema, example), JSON.stringify(example));
  }
  assert.ok(!conforms(ProfileSchema, {}), 'the check can fail');
});

test('the document is made once, is compressed for clients that accept it, and is sent again only when it changed', async (t) => {
  const api = await startApi(t);
  const { headers, body } = await api.call('GET', '/openapi.json');
  assert.equal(headers['cache-control'], 'no-cache');
  const known = await api.call('GET', '/openapi.json', { headers: { 'if-none-match': String(headers.etag) } });
  assert.equal(known.statusCode, 304);
  const zipped = await api.call('GET', '/openapi.json', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(gunzipSync(zipped.rawPayload).toString(), body);
  for (const path of ['/docs/json', '/docs/yaml']) assert.equal((await api.call('GET', path)).statusCode, 404, path);
});

test('operations on keys, users and the audit log have their possible refusals', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json<Document>();
  const operations = Object.entries(paths)
    .filter(([path]) => /^\/(api-token|user|audit)\b/.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => `${method} ${path} ${Object.keys(responses).join()}`),
    );
  assert.deepEqual(operations.toSorted(), [
    'delete /api-token/{id} 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'get /api-token 200,400,401,403,429,500,503',
    'get /api-token/{id} 200,400,401,403,404,429,500,503',
    'get /audit 200,400,401,403,429,500,503',
    'get /user 200,400,401,403,429,500,503',
    'get /user/me 200,400,401,403,429,500,503',
    'get /user/{id} 200,400,401,403,404,429,500,503',
    'patch /user/{id} 204,400,401,403,404,409,413,415,422,429,500,503,504',
    'post /api-token 201,400,401,403,409,413,415,422,429,500,503,504',
    'post /user 201,400,401,403,409,413,415,422,429,500,503,504',
  ]);
});

test('answers to a request with a valid key have the rate limit, and every change of what is stored accepts an Idempotency-Key', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json<Document>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { security, responses, parameters = [] }] of Object.entries(methods)) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        const told = Object.keys(headers);
        assert.equal(told.includes('RateLimit-Remaining'), isNamed(security) && status !== '401', `${path} ${status}`);
        if (isNamed(security) && status === '429') assert.ok(told.includes('Retry-After'));
      }
      const isRepeatable = parameters.some(
        (parameter) => parameter.in === 'header' && parameter.name === 'idempotency-key',
      );
      const storesNothing = path.endsWith('/test-picture');
      assert.equal(isRepeatable, method !== 'get' && !storesNothing, `${method} ${path}`);
    }
  }
});

test('lists have the header that leads to the next page, and the one with their length', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json<Document>();
  const told: Record<string, string[]> = {};
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        const ofLists = Object.keys(headers).filter((name) => name === 'Link' || name === 'X-Total-Count');
        if (ofLists.length > 0) told[`${method} ${path} ${status}`] = ofLists;
      }
    }
  }
  assert.deepEqual(told, {
    'get /stream 200': ['Link', 'X-Total-Count'],
    'get /stream/user/{id} 200': ['Link', 'X-Total-Count'],
    'get /session 200': ['Link', 'X-Total-Count'],
    'get /stream/{id}/sessions 200': ['Link', 'X-Total-Count'],
    'get /asset 200': ['Link', 'X-Total-Count'],
    'get /asset/{id}/clips 200': ['Link', 'X-Total-Count'],
    'get /session/{id}/clips 200': ['Link', 'X-Total-Count'],
    'get /stream/{id}/clips 200': ['Link', 'X-Total-Count'],
    'get /clip/{id} 200': ['Link', 'X-Total-Count'],
    'get /task 200': ['Link', 'X-Total-Count'],
    'get /browser-session 200': ['Link'],
    'get /api-token 200': ['Link'],
    'get /access-control/signing-key 200': ['Link'],
    'get /user 200': ['Link'],
    'get /audit 200': ['Link'],
    'get /event 200': ['Link'],
    'get /webhook 200': ['Link'],
    'get /webhook/{id}/log 200': ['Link'],
    'get /webhook/{id}/delivery 200': ['Link'],
  });
});
