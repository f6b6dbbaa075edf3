import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ms } from '#lib/units.ts';
import { rangeArgs } from './lists.ts';

it('starts a page at the end of the last page or at the bound on that side, whichever is narrower', () => {
  const after = { at: ms(5), id: 'x' };
  const key = { after_at: 5, after_id: 'x' };
  for (const [bounds, direction, start, expected] of [
    [{}, 'desc', undefined, {}],
    [{}, 'asc', after, key],
    [{ from: 1, to: 9 }, 'desc', undefined, { from: 1, to: 9 }],
    [{ from: 1, to: 9 }, 'desc', after, { ...key, from: 1 }],
    [{ from: 1, to: 9 }, 'asc', after, { ...key, to: 9 }],
    [{ from: 5, to: 5 }, 'asc', after, { ...key, to: 5 }],
    // The previous page was requested with other bounds.
    [{ from: 1, to: 4 }, 'desc', after, { from: 1, to: 4 }],
    [{ from: 6, to: 9 }, 'asc', after, { from: 6, to: 9 }],
  ] as const) {
    assert.deepEqual(rangeArgs(bounds, direction, start), expected);
  }
});
