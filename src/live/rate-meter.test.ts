import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateMeter } from './rate-meter.ts';

/** Feeds frames of equal size, with times rounded to milliseconds as in RTMP. @returns the end in seconds */
function feed(meter: RateMeter, { fromS = 0, durationS = 12, framesPerSecond = 30, bitrateBps = 1_000_000 } = {}) {
  const count = Math.round(durationS * framesPerSecond);
  for (let index = 0; index < count; index += 1) {
    const mediaS = Math.round((fromS + index / framesPerSecond) * 1000) / 1000;
    meter.add(bitrateBps / 8 / framesPerSecond, mediaS, mediaS * 1000);
  }
  return fromS + durationS;
}

const near = (actual: number | undefined, expected: number, tolerance: number) =>
  assert.ok(actual !== undefined && Math.abs(actual / expected - 1) < tolerance, `${actual}, not ${expected}`);

test('rates are those of the last seconds, accurate to a thousandth in spite of rounded times', () => {
  for (const framesPerSecond of [1, 24_000 / 1001, 25, 30_000 / 1001, 30, 60]) {
    const meter = new RateMeter();
    const endS = feed(meter, { framesPerSecond });
    near(meter.rates(endS * 1000)?.framesPerSecond, framesPerSecond, 0.001);
    near(meter.rates(endS * 1000)?.bitrateBps, 1_000_000, 0.001);
  }
});

test('a source that sends a frame every three seconds has rates', () => {
  const meter = new RateMeter();
  const endS = feed(meter, { durationS: 30, framesPerSecond: 1 / 3 });
  near(meter.rates(endS * 1000)?.framesPerSecond, 1 / 3, 0.001);
});

test('a rate that changes is forgotten after ten seconds', () => {
  const meter = new RateMeter();
  let endS = feed(meter, { bitrateBps: 8_000_000 });
  endS = feed(meter, { fromS: endS, durationS: 11.1, bitrateBps: 1_000_000, framesPerSecond: 15 });
  near(meter.rates(endS * 1000)?.bitrateBps, 1_000_000, 0.001);
  near(meter.rates(endS * 1000)?.framesPerSecond, 15, 0.001);
});

test('there are no rates before a second of media, or when nothing came for five seconds', () => {
  const meter = new RateMeter();
  feed(meter, { durationS: 1 });
  assert.equal(meter.rates(1000), undefined);
  const endS = feed(meter, { fromS: 1, durationS: 1 });
  assert.ok(meter.rates(endS * 1000));
  assert.ok(meter.rates(endS * 1000 + 4900));
  assert.equal(meter.rates(endS * 1000 + 5100), undefined);
});

test('an interruption does not count', () => {
  const meter = new RateMeter();
  const endS = feed(meter, { durationS: 4.5 });
  const end2S = feed(meter, { fromS: endS + 20, durationS: 4.5 });
  near(meter.rates(end2S * 1000)?.framesPerSecond, 30, 0.001);
});
