import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killUploads } from '#test/support/killed-uploads.ts';
import { recordingsFolder } from '#test/support/recording-folder.ts';

test('after every kill -9 the next process goes on: each file is in the bucket as it was written, and no other', async (t) => {
  const { faults, kills } = await killUploads(recordingsFolder(t), 5);
  assert.deepEqual({ faults, kills }, { faults: [], kills: 5 });
});
