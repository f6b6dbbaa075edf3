import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanOf } from './clip-span.ts';

test('a clip is between its marks, whichever was made first', () => {
  assert.deepEqual(spanOf(4, 9), { fromS: 4, untilS: 9 });
  assert.deepEqual(spanOf(9, 4), { fromS: 4, untilS: 9 });
  for (const [one, other] of [
    [undefined, 4],
    [4, undefined],
    [4, 4],
  ] as const)
    assert.equal(spanOf(one, other), undefined);
});
