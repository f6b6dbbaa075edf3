import assert from 'node:assert/strict';
import { it } from 'node:test';
import { KeyShelves, onEveryShelf } from './key-shelf.ts';

const HASH = 'f'.repeat(64);

it('puts thousands of consecutive hashes on one shelf, then uses the next, and starts again after the last', () => {
  const shelves = new KeyShelves();
  const every = onEveryShelf(HASH);
  const put = Array.from({ length: (every.length + 1) * 4096 }, () => shelves.put(HASH));
  const runs = put.filter((each, index) => each !== put[index - 1]);
  assert.equal(runs.length, every.length + 1);
  assert.equal(runs.at(-1), runs[0]);
  assert.deepEqual(new Set(runs), new Set(every));
});
