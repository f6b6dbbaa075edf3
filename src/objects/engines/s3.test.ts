import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import type { ObjectSettings } from '#objects/config.ts';
import { openBucket } from '#objects/engines.ts';
import { type ObjectStore, ObjectStoreError } from '#objects/objects.ts';
import {
  ACCESS_KEY_ID,
  type Fault,
  type ObjectServer,
  SECRET_ACCESS_KEY,
  type SeenRequest,
  startObjectServer,
} from '#test/support/object-server.ts';

async function opened(t: TestContext, settings: ObjectSettings): Promise<ObjectStore> {
  const store = (await openBucket(settings, systemClock))!;
  t.after(() => store[Symbol.asyncDispose]());
  return store;
}

async function setUp(t: TestContext): Promise<{ server: ObjectServer; store: ObjectStore }> {
  const server = await startObjectServer();
  t.after(() => server[Symbol.asyncDispose]());
  return { server, store: await opened(t, server.settings) };
}

/** The error of a call, which names no secret however it is printed. */
async function errorOf(call: Promise<unknown>): Promise<ObjectStoreError> {
  const error = await call.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ObjectStoreError, inspect(error));
  const shown = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error);
  for (const secret of [SECRET_ACCESS_KEY, ACCESS_KEY_ID, 'Signature=']) assert.ok(!shown.includes(secret), shown);
  return error;
}

/** Fails the next requests, one fault each. */
function fail(server: ObjectServer, ...faults: (Fault | undefined)[]): void {
  server.faultOf = () => faults.shift();
}

const refused = (status: number, code: string): Fault => ({ type: 'refused', status, code });

const REFUSALS: readonly [status: number, code: string, isTemporary: boolean][] = [
  [500, 'InternalError', true],
  [503, 'SlowDown', true],
  [502, 'BadGateway', true],
  [429, 'TooManyRequests', true],
  [400, 'RequestTimeout', true],
  [409, 'OperationAborted', true],
  [403, 'AccessDenied', false],
  [403, 'SignatureDoesNotMatch', false],
  [404, 'NoSuchBucket', false],
  [301, 'PermanentRedirect', false],
  [400, 'InvalidRequest', false],
  [507, 'InsufficientStorage', true],
];
for (const [status, code, isTemporary] of REFUSALS) {
  test(`a refusal with ${status} ${code} is ${isTemporary ? 'temporary' : 'permanent'} and named in the error`, async (t) => {
    const { server, store } = await setUp(t);
    server.faultOf = () => refused(status, code);
    const error = await errorOf(store.put('a/1', Buffer.from('1')));
    assert.deepEqual([error.message, error.isTemporary], [`PUT a/1: ${status} ${code}`, isTemporary]);
    const others = [store.get('a/1'), Array.fromAsync(store.list('a/')), store.delete('a/1')];
    for (const call of others) assert.equal((await errorOf(call)).isTemporary, isTemporary);
    assert.equal(server.objects.size, 0);
  });
}

test('connections that are cut in either direction, and lost answers, are temporary errors', async (t) => {
  const { server, store } = await setUp(t);
  const bytes = randomBytes(300_000);
  for (const type of ['cut_request', 'cut_answer', 'lost_answer'] as const) {
    server.objects.set('get/1', bytes);
    server.faultOf = () => ({ type });
    assert.equal((await errorOf(store.put('a/1', bytes))).isTemporary, true);
    if (type !== 'cut_request') assert.equal((await errorOf(store.get('get/1'))).isTemporary, true);
  }
  // The write whose answer was lost was carried out. Repeating it is harmless.
  assert.deepEqual(server.objects.get('a/1'), bytes);
  fail(server);
  await store.put('a/1', bytes);
  assert.deepEqual(server.objects.get('a/1'), bytes);
});

test('a request without a body is repeated once when the connection broke', async (t) => {
  const { server, store } = await setUp(t);
  server.objects.set('a/1', Buffer.from('12345'));
  fail(server, { type: 'lost_answer' });
  assert.equal((await store.get('a/1'))?.toString(), '12345');
  fail(server, { type: 'lost_answer' });
  assert.equal((await store.head('a/1'))?.sizeBytes, 5);
  fail(server, { type: 'lost_answer' });
  await store.delete('a/1');
  assert.deepEqual(
    server.requests.map(({ method }) => method),
    ['GET', 'GET', 'HEAD', 'HEAD', 'DELETE', 'DELETE'],
  );
});

test('a server that is away is a temporary error, and is used again once it is back', async (t) => {
  const { server, store } = await setUp(t);
  await server.away(true);
  const error = await errorOf(store.put('a/1', Buffer.from('1')));
  assert.deepEqual([error.message, error.isTemporary], ['PUT a/1: ECONNREFUSED', true]);
  await server.away(false);
  await store.put('a/1', Buffer.from('1'));
});

test('a server whose clock differs by hours is asked again with its own time, once for all requests', async (t) => {
  const { server, store } = await setUp(t);
  server.aheadMs = -5 * 3_600_000;
  await store.put('a/1', Buffer.from('1'));
  await store.put('a/2', Buffer.from('2'));
  assert.equal(server.requests.length, 3);
  server.aheadMs = 5 * 3_600_000;
  assert.deepEqual(await store.head('a/1'), { name: 'a/1', sizeBytes: 1 });
  server.faultOf = () => refused(403, 'RequestTimeTooSkewed');
  assert.equal((await errorOf(store.put('a/3', Buffer.from('3')))).isTemporary, true);
});

test('an answer of another length than requested is an error', async (t) => {
  const { server, store } = await setUp(t);
  server.objects.set('a/1', Buffer.from('12345'));
  fail(server, { type: 'wrong_length' });
  const error = await errorOf(store.get('a/1', { from: 1, until: 3 }));
  assert.deepEqual([error.message, error.isTemporary], ['GET a/1: 206 not the requested range', true]);
  fail(server, { type: 'answer', status: 200, text: 'all of it' });
  assert.equal((await errorOf(store.get('a/1', { from: 1, until: 3 }))).isTemporary, true);
});

test('an answer that is larger than anything requested is not read', async (t) => {
  const { server, store } = await setUp(t);
  server.faultOf = () => ({ type: 'answer', status: 200, text: 'x'.repeat(9 * 1024 * 1024) });
  const ofList = await errorOf(Array.fromAsync(store.list('')));
  assert.equal(ofList.message, 'GET list: an answer of more than 8388608 bytes');
  const { message } = await errorOf(store.get('a/1', { from: 0, until: 10 }));
  assert.equal(message, 'GET a/1: an answer of more than 8388608 bytes');
});

const LISTS = [
  'no XML',
  '<a/>',
  '<ListBucketResult></ListBucketResult>',
  '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
  '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>',
  '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Size>1</Size></Contents></ListBucketResult>',
  '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken></ListBucketResult>',
];
test('a list that cannot be understood, or has no end, is an error', async (t) => {
  const { server, store } = await setUp(t);
  for (const text of LISTS) {
    server.faultOf = () => ({ type: 'answer', status: 200, text });
    const error = await errorOf(Array.fromAsync(store.list('')));
    assert.equal(error.isTemporary, true, text);
  }
});

test('objects that are not ours are left out of lists', async (t) => {
  const { server, store } = await setUp(t);
  server.objects.set('a/1', Buffer.from('1'));
  server.objects.set('a/../b', Buffer.from('2'));
  server.objects.set('a/b c', Buffer.from('3'));
  assert.deepEqual(await Array.fromAsync(store.list('a/')), [{ name: 'a/1', sizeBytes: 1 }]);
});

test('a call ends when its signal aborts while the server is slow, with the reason of the signal', async (t) => {
  const { server, store } = await setUp(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  const abort = new AbortController();
  server.faultOf = () => {
    abort.abort(new Error('enough'));
    return { type: 'slow', until: promise };
  };
  await assert.rejects(store.get('a/1', undefined, { signal: abort.signal }), /enough/);
  resolve();
});

test('a file that becomes shorter while it is sent is an error, and no object appears', async (t) => {
  const { server, store } = await setUp(t);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-s3-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'file');
  writeFileSync(path, randomBytes(8 * 1024 * 1024));
  server.faultOf = ({ method }: SeenRequest) => {
    if (method === 'PUT') writeFileSync(path, '');
    return undefined;
  };
  await errorOf(store.putFile('a/1', path));
  assert.equal(server.objects.size, 0);
});

test('a wrong secret key is a permanent error', async (t) => {
  await using server = await startObjectServer();
  const store = await opened(t, { ...server.settings, s3SecretAccessKey: new Secret('another secret key') });
  const error = await errorOf(store.put('a/1', Buffer.from('1')));
  assert.deepEqual([error.message, error.isTemporary], ['PUT a/1: 403 SignatureDoesNotMatch', false]);
});
