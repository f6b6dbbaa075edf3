import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { uploadPause } from './upload-pause.ts';

test('the pause doubles with every failure, from one second to five minutes', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1000].map((failures) => uploadPause(failures, 1) / 1000);
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
});

test('up to half of a pause is random, but none is shorter than a second or longer than five minutes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const pause = uploadPause(failures, random);
      assert.ok(pause >= Math.max(1000, uploadPause(failures, 1) / 2) && pause <= uploadPause(failures, 1));
    }),
  );
});
