import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ms } from '#lib/units.ts';
import { someSample } from '#test/support/sample-records.ts';
import { RENDITION_STATES } from './health.ts';
import { type HealthSample, joinSamples, sampleOfText, textOfSample } from './health-sample.ts';

const SAMPLE = someSample({ at: ms(5000), renditions: ['running', 'running'] });

const whole = fc.integer({ min: 0, max: 1_000_000_000 });
const samples: fc.Arbitrary<HealthSample> = fc.record(
  {
    at: whole.map(ms),
    durationMs: whole,
    bitrateBps: fc.record({ min: whole, mean: whole, max: whole }, { noNullPrototype: true }),
    framesPerSecond: whole,
    longestGapS: whole,
    keyframeIntervalS: fc.option(whole, { nil: undefined }),
    speed: whole,
    driftS: whole,
    lagMs: fc.option(whole, { nil: undefined }),
    viewers: whole,
    renditions: fc.array(fc.constantFrom(...RENDITION_STATES), { maxLength: 16 }),
  },
  { noNullPrototype: true },
);

test('a sample is read as it was written', () => {
  fc.assert(
    fc.property(samples, (sample) => {
      assert.deepEqual(sampleOfText(sample.at, textOfSample(sample)), sample);
    }),
  );
  assert.ok(textOfSample(SAMPLE).length < 80);
});

test('a text that is not a sample is read as undefined', () => {
  for (const text of ['', '{}', '[]', 'null', '[1,2]', '["a",1,1,1,1,1,1,1,1,1,1]', '[null,1,1,1,1,1,1,1,1,1,1]'])
    assert.equal(sampleOfText(ms(1), text), undefined, text);
  fc.assert(
    fc.property(fc.json(), (text) => {
      sampleOfText(ms(1), text);
    }),
  );
});

test('joined samples keep the extremes, weigh means by time, and show every rendition that was shed', () => {
  const bad: HealthSample = {
    ...SAMPLE,
    at: ms(10_000),
    bitrateBps: { min: 0, mean: 500, max: 9000 },
    framesPerSecond: 10,
    longestGapS: 3,
    keyframeIntervalS: undefined,
    speed: 0.5,
    driftS: 2.5,
    lagMs: 900,
    viewers: 1,
    renditions: ['running', 'shed'],
  };
  assert.deepEqual(joinSamples([bad, { ...SAMPLE, at: ms(25_000), durationMs: 15_000, driftS: 2 }]), {
    at: 25_000,
    durationMs: 20_000,
    bitrateBps: { min: 0, mean: 1625, max: 9000 },
    framesPerSecond: 25,
    longestGapS: 3,
    keyframeIntervalS: 2,
    speed: 0.875,
    driftS: 2,
    lagMs: 900,
    viewers: 3,
    renditions: ['running', 'shed'],
  });
  assert.deepEqual(joinSamples([SAMPLE]), SAMPLE);
});
