import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { routes } from '#api/routes.ts';
import { ErrorSchema } from '#api/schemas/error.ts';
import { IngestSchema } from '#api/schemas/ingest.ts';
import { PlaybackSchema } from '#api/schemas/playback.ts';
import { ProfileSchema } from '#api/schemas/profile.ts';
import { StreamSchema } from '#api/schemas/stream.ts';
import { SCHEMAS } from '#api/schemas.ts';
import { startApi } from './server.ts';

/** What the tests below read of the document. */
interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<string, Record<string, { security?: object[]; responses: Record<string, unknown> }>>;
  readonly components: { readonly schemas: Record<string, unknown>; readonly securitySchemes: object };
}

/** All references inside a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : references(inner)));
}

/** Whether an answer is as its schema says; references are looked up among the API's schemas. */
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
      const who = security ? 'key' : 'anybody';
      return `${method.toUpperCase()} ${path} ${who} ${Object.keys(responses).join()}`;
    }),
  );
  assert.deepEqual(operations.toSorted(), [
    'GET /ingest anybody 200',
    'GET /playback/{playbackId} anybody 200,404,503',
    'GET /stream key 200,400,401,429,503',
    'GET /stream/{id} key 200,401,404,429,503',
    'POST /stream key 201,400,401,413,415,422,429,503',
  ]);
  assert.equal(operations.length, routes.length);
});

test('every reference in the document leads somewhere, by name', async (t) => {
  const api = await startApi(t);
  const document = (await api.call('GET', '/openapi.json')).json<Document>();
  const names = Object.keys(document.components.schemas);
  assert.deepEqual(names.toSorted(), ['Error', 'Health', 'Ingest', 'NewStream', 'Playback', 'Profile', 'Stream']);
  const found = new Set(references(document));
  assert.ok(found.size > 0);
  for (const reference of found) {
    assert.ok(names.includes(reference.replace('#/components/schemas/', '')), reference);
  }
});

test('answers and examples are as the schemas say', async (t) => {
  const api = await startApi(t);
  const key = await api.makeKey('ann');
  const created = await api.call('POST', '/stream', { key, body: { name: 'x' } });
  const { id, playbackId } = created.json();
  assert.ok(conforms(StreamSchema, created.json()));
  assert.ok(conforms(StreamSchema, (await api.call('GET', `/stream/${id}`, { key })).json()));
  assert.ok(conforms(Type.Array(StreamSchema), (await api.call('GET', '/stream', { key })).json()));
  assert.ok(conforms(PlaybackSchema, (await api.call('GET', `/playback/${playbackId}`)).json()));
  assert.ok(conforms(Type.Array(IngestSchema), (await api.call('GET', '/ingest')).json()));
  assert.ok(conforms(ErrorSchema, (await api.call('GET', '/stream')).json()));
  for (const schema of SCHEMAS) {
    const { examples = [] } = schema as { examples?: unknown[] };
    for (const example of examples) assert.ok(conforms(schema, example), JSON.stringify(example));
  }
  assert.ok(!conforms(ProfileSchema, {}), 'the check can fail');
});

test('the page to browse it loads only from this server, under a strict policy', async (t) => {
  const api = await startApi(t);
  const page = await api.call('GET', '/docs');
  assert.equal(page.statusCode, 200);
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.doesNotMatch(page.body, /<script>|https?:/);
  const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  assert.ok(files.length >= 4);
  for (const file of files) assert.equal((await api.http.inject(file)).statusCode, 200, file);
});
