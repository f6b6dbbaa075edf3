import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArrivalMeter } from './arrival-meter.ts';

const FRAME_MS = 40;
const FRAME_BYTES = 5000; // 1 Mbit/s at 25 frames a second

/** Sends frames at their pace. @param speed seconds of media in each second */
function send(meter: ArrivalMeter, { fromMs = 0, untilMs = 5000, speed = 1, fromS = 0 } = {}): number {
  let mediaS = fromS;
  for (let now = fromMs; now < untilMs; now += FRAME_MS) {
    meter.add({ sizeBytes: FRAME_BYTES, leadS: mediaS }, now);
    mediaS += (FRAME_MS / 1000) * speed;
  }
  return mediaS;
}

test('a steady publisher has a steady rate, no gap, and no drift', () => {
  const meter = new ArrivalMeter();
  const mediaS = send(meter);
  const first = meter.take(5000)!;
  send(meter, { fromMs: 5000, untilMs: 10_000, fromS: mediaS });
  const second = meter.take(10_000)!;
  for (const { durationMs, bitrateBps, framesPerSecond, longestGapS, driftS } of [first, second]) {
    assert.equal(durationMs, 5000);
    assert.deepEqual(bitrateBps, { min: 1_000_000, mean: 1_000_000, max: 1_000_000 });
    assert.equal(framesPerSecond, 25);
    assert.ok(Math.abs(longestGapS - 0.04) < 0.001);
    assert.ok(driftS <= 0.041, `${driftS}`);
  }
  assert.ok(Math.abs(second.speed - 1) < 0.001);
});

test('an uplink that is too slow drifts', () => {
  const meter = new ArrivalMeter();
  send(meter, { speed: 0.9 });
  const { speed, driftS } = meter.take(5000)!;
  assert.ok(Math.abs(speed - 0.9) < 0.02, `${speed}`);
  assert.ok(Math.abs(driftS - 0.5) < 0.05, `${driftS}`);
});

test('a pause shows as an empty second and a gap, also while it lasts', () => {
  const meter = new ArrivalMeter();
  const mediaS = send(meter, { untilMs: 2000 });
  meter.take(2500);
  const during = meter.take(5000)!;
  assert.deepEqual([during.bitrateBps.min, during.bitrateBps.max, during.framesPerSecond], [0, 0, 0]);
  assert.ok(during.longestGapS > 3);
  assert.ok(during.driftS > 2.9);
  send(meter, { fromMs: 5000, untilMs: 6000, fromS: mediaS });
  const after = meter.take(6000)!;
  assert.ok(after.longestGapS > 3);
  assert.ok(after.bitrateBps.max >= 1_000_000);
});

test('a publisher that comes back does not inherit the drift of the one before', () => {
  const meter = new ArrivalMeter();
  send(meter, { speed: 0.5 });
  meter.take(5000);
  meter.restart();
  send(meter, { fromMs: 20_000, untilMs: 25_000, fromS: 100 });
  assert.ok(meter.take(25_000)!.driftS < 0.05);
});

test('bytes of other tracks count for the bitrate alone, and nothing is measured before the first', () => {
  const meter = new ArrivalMeter();
  assert.equal(meter.take(0), undefined);
  meter.add({ sizeBytes: 125, leadS: undefined }, 1000);
  const { bitrateBps, framesPerSecond, speed, driftS, longestGapS } = meter.take(2000)!;
  assert.deepEqual([bitrateBps.mean, framesPerSecond, speed, driftS, longestGapS], [1000, 0, 0, 0, 0]);
});
