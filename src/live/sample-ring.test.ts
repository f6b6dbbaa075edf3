import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RENDITION_STATES } from '#domain/health.ts';
import type { HealthSample } from '#domain/health-sample.ts';
import { ms } from '#lib/units.ts';
import { SampleRing } from './sample-ring.ts';

const sample = (at: number, change: Partial<HealthSample> = {}): HealthSample => ({
  at: ms(at),
  durationMs: 5000,
  bitrateBps: { min: 1, mean: 2.5, max: 3 },
  framesPerSecond: 29.97,
  longestGapS: 0.1,
  keyframeIntervalS: 2,
  speed: 0.99,
  driftS: 0.2,
  lagMs: 40,
  viewers: 7,
  renditions: [],
  ...change,
});

test('samples are handed out as they were added, the oldest first, and only the latest are kept', () => {
  const ring = new SampleRing();
  assert.deepEqual(ring.list(), []);
  const renditions = Array.from({ length: 16 }, (_, index) => RENDITION_STATES[index % 3]!);
  const added = Array.from({ length: 400 }, (_, index) =>
    sample(index, index % 2 === 0 ? { keyframeIntervalS: undefined, lagMs: undefined } : { renditions }),
  );
  for (const each of added) ring.add(each);
  assert.deepEqual(ring.list(), added.slice(-180));
});

test('states beyond what a sample holds are left out', () => {
  const ring = new SampleRing();
  ring.add(sample(1, { renditions: Array(40).fill('running') }));
  assert.deepEqual(ring.list()[0]?.renditions, Array(16).fill('running'));
});

test('a ring without samples takes no memory outside the heap', () => {
  const before = process.memoryUsage().arrayBuffers;
  const rings = Array.from({ length: 1000 }, () => new SampleRing());
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < 100 * rings.length, `${taken} bytes for ${rings.length} rings`);
});
