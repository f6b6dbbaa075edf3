import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { costOf } from './cost.ts';
import { COMMON_PROFILES, LADDERS } from './ladders.ts';

test('the source alone costs nothing, and what the server leaves out costs nothing', () => {
  assert.deepEqual(costOf([]), { cores: 0, bitrateBps: 0 });
  assert.deepEqual(costOf([COMMON_PROFILES[0]!], { width: 1280, height: 720 }), { cores: 0, bitrateBps: 0 });
});

test('another profile never makes a ladder cheaper', () => {
  const profile = fc.constantFrom(...COMMON_PROFILES);
  fc.assert(
    fc.property(fc.array(profile, { maxLength: 5 }), profile, (ladder, more) => {
      assert.ok(costOf([...ladder, more]).cores >= costOf(ladder).cores);
    }),
  );
});

test('the ladders that are offered have the names and sizes that the API takes', () => {
  for (const { profiles } of LADDERS) {
    for (const { name, width, height, bitrate } of profiles ?? []) {
      assert.ok(name.length > 0 && width >= 128 && height >= 128 && bitrate >= 400);
    }
  }
});
