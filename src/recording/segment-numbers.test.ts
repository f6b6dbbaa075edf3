import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SegmentNumbers } from './segment-numbers.ts';

const CONTINUES = false;

describe('the numbers of a recording', () => {
  it('count from 0 without holes, are the same in all renditions, and begin without a discontinuity', () => {
    const numbers = new SegmentNumbers();
    assert.equal(numbers.keep(7, CONTINUES), undefined);
    assert.deepEqual(numbers.resume(7), { number: 0, discontinuity: false });
    assert.deepEqual(numbers.keep(7, CONTINUES), { number: 0, discontinuity: false });
    assert.deepEqual(numbers.keep(8, CONTINUES), { number: 1, discontinuity: false });
    assert.deepEqual(numbers.keep(9, true), { number: 2, discontinuity: true });
    assert.deepEqual(numbers.of(8), { number: 1, discontinuity: false });
  });

  it('leave no hole where segments are left out, but a discontinuity', () => {
    const numbers = new SegmentNumbers();
    numbers.resume(0);
    numbers.leaveOut(0); // another rendition has it
    assert.equal(numbers.keep(1, CONTINUES)?.discontinuity, false);
    numbers.leaveOut(2);
    numbers.leaveOut(3);
    assert.deepEqual(numbers.keep(4, CONTINUES), { number: 2, discontinuity: true });
    assert.equal(numbers.keep(3, CONTINUES), undefined);
  });

  it('have a discontinuity that only a later rendition states, and none for a segment that only one rendition leaves out', () => {
    const numbers = new SegmentNumbers();
    numbers.resume(0);
    assert.equal(numbers.keep(1, CONTINUES)?.discontinuity, false, 'the rest of a rendition that ended alone');
    for (const discontinuity of [true, CONTINUES]) {
      assert.deepEqual(numbers.keep(1, discontinuity), { number: 1, discontinuity: true });
    }
    numbers.leaveOut(2);
    assert.deepEqual(numbers.keep(2, CONTINUES), { number: 2, discontinuity: false });
    assert.deepEqual(numbers.keep(3, CONTINUES), { number: 3, discontinuity: false });
  });

  it('go on after a suspension with the segment that ends it', () => {
    const numbers = new SegmentNumbers();
    numbers.resume(0);
    numbers.suspend();
    assert.equal(numbers.keep(1, CONTINUES), undefined);
    assert.deepEqual(numbers.resume(5), { number: 1, discontinuity: true });
    assert.equal(numbers.keep(4, CONTINUES), undefined);
  });

  it('continue those of an earlier process, whose media the first segment does not continue', () => {
    assert.deepEqual(new SegmentNumbers(12).resume(1_000_000), { number: 12, discontinuity: true });
  });
});
