import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#lib/clock.ts';
import { startIndependentServer } from '#test/support/independent-object-server.ts';
import { startObjectServer } from '#test/support/object-server.ts';
import { BucketSettingsError, openBucket } from './engines.ts';
import { objectsContract } from './objects.contract.ts';
import type { ObjectStore } from './objects.ts';

/** Makes a store dispose something else after itself. */
function disposingToo(store: ObjectStore, dispose: () => PromiseLike<unknown>): ObjectStore {
  const close = store[Symbol.asyncDispose].bind(store);
  store[Symbol.asyncDispose] = async () => {
    await close();
    await dispose();
  };
  return store;
}

objectsContract('a bucket of the fake server, which checks signatures', async () => {
  const server = await startObjectServer();
  return disposingToo((await openBucket(server.settings, systemClock))!, () => server[Symbol.asyncDispose]());
});

objectsContract('a bucket of s3rver', async () => {
  const server = await startIndependentServer();
  return disposingToo((await openBucket(server.settings, systemClock))!, () => server[Symbol.asyncDispose]());
});

test('a bucket without its keys is refused', async () => {
  const settings = { s3Url: 'https://s3.example.com/bucket', s3Region: 'us-east-1', s3SecretAccessKey: undefined };
  await assert.rejects(openBucket({ ...settings, s3AccessKeyId: 'x' }, systemClock), BucketSettingsError);
});
