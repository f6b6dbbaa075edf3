import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTooLong, KeyframeMeter } from './keyframe-meter.ts';

/** Feeds ten frames per second up to a time, with keyframes at these times. */
function feed(meter: KeyframeMeter, keyframesAtS: readonly number[], endS: number) {
  for (let tenth = Math.round((keyframesAtS[0] ?? 0) * 10); tenth <= endS * 10; tenth += 1) {
    meter.add(keyframesAtS.includes(tenth / 10), tenth / 10);
  }
}

test('the interval is known at the second keyframe, and grows until then', () => {
  const meter = new KeyframeMeter();
  feed(meter, [0], 4);
  assert.equal(meter.intervalS, undefined);
  assert.deepEqual(meter.longest, { intervalS: 4, open: true });
  feed(meter, [9.6], 11);
  assert.equal(meter.intervalS, 9.6);
  assert.deepEqual(meter.longest, { intervalS: 9.6, open: false });
});

test('keyframes at scene cuts do not hide the interval, and a shorter interval shows after five keyframes', () => {
  const meter = new KeyframeMeter();
  feed(meter, [0, 8, 8.5, 9, 10], 10);
  assert.equal(meter.intervalS, 8);
  feed(meter, [12, 14, 16], 16);
  assert.equal(meter.intervalS, 2);
});

test('neither an interval with a pause of the video nor an overdue keyframe changes when later keyframes are expected', () => {
  const meter = new KeyframeMeter();
  feed(meter, [0, 2, 4, 7, 9], 12);
  assert.equal(meter.intervalS, 3);
  assert.deepEqual(
    [8, 9, 10.9, 11, 12.9].map((seconds) => meter.expectedAfter(seconds)),
    [11, 11, 11, 13, 13],
  );
});

test('two keyframes with the same time do not tell when the next one comes', () => {
  const meter = new KeyframeMeter();
  meter.add(true, 1);
  meter.add(true, 1);
  assert.equal(meter.expectedAfter(5), undefined);
});

test('the measurement restarts with another publisher', () => {
  const meter = new KeyframeMeter();
  feed(meter, [0, 8], 9);
  meter.restart();
  assert.equal(meter.intervalS, undefined);
  feed(meter, [100, 101], 101);
  assert.equal(meter.intervalS, 1);
});

test('frequent keyframes are not the cause of a segment without one', () => {
  assert.equal(isTooLong({ intervalS: 0, open: false }, 4), false);
  assert.equal(isTooLong({ intervalS: 2, open: false }, 4), false);
  assert.equal(isTooLong({ intervalS: 3.98, open: true }, 4), true);
  assert.equal(isTooLong({ intervalS: 8.3, open: false }, 4), true);
});
