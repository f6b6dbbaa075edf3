import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SegmentGrid } from './segment-grid.ts';

const cut = (startS: number, discontinuity = false) => ({ startS, discontinuity });

describe('the segment grid', () => {
  test('obeys the rendition that comes first', () => {
    const grid = new SegmentGrid(false);
    grid.at(3, cut(6, true));
    assert.deepEqual(grid.at(3, cut(6.02, false)), cut(6, true));
    assert.equal(grid.last, 3);
    assert.equal(grid.find(2), undefined);
  });

  test('begins with a discontinuity when it continues an older playlist', () => {
    const grid = new SegmentGrid(true);
    assert.equal(grid.at(0, cut(0)).discontinuity, true);
    assert.equal(grid.at(1, cut(2)).discontinuity, false);
  });

  test('counts discontinuities before a segment, also those it has forgotten', () => {
    const grid = new SegmentGrid(false);
    for (let ordinal = 0; ordinal < 500; ordinal += 1) grid.at(ordinal, cut(ordinal, ordinal % 10 === 0));
    assert.equal(grid.find(400), undefined);
    assert.equal(grid.discontinuitiesBefore(490), 49);
    assert.equal(grid.discontinuitiesBefore(491), 50);
  });
});
