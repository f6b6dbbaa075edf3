import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Milliseconds, ms } from '#lib/units.ts';
import { Viewers } from './viewers.ts';

function viewersOf(limit: number) {
  let now = ms(0);
  const clock = { now: () => now, monotonic: () => now };
  return { viewers: new Viewers(limit, clock), passMs: (span: number) => (now = (now + span) as Milliseconds) };
}

test('a viewer is an address and a user agent', () => {
  const { viewers } = viewersOf(10);
  viewers.note('::1', 'a');
  viewers.note('::1', 'a');
  viewers.note('::1', 'b');
  viewers.note('::2', 'a');
  viewers.note('::2', undefined);
  assert.equal(viewers.count, 4);
});

test('a viewer counts until ten seconds after the last playlist request', () => {
  const { viewers, passMs } = viewersOf(10);
  viewers.note('::1', 'a');
  passMs(6000);
  viewers.note('::2', 'a');
  viewers.note('::1', 'a');
  passMs(9999);
  assert.equal(viewers.count, 2);
  passMs(1);
  assert.equal(viewers.count, 0);
});

test('above the limit new viewers are refused, known ones are not, and room is made by those who left', () => {
  const { viewers, passMs } = viewersOf(2);
  assert.equal(viewers.note('::1', 'a'), true);
  passMs(5000);
  assert.equal(viewers.note('::2', 'a'), true);
  assert.equal(viewers.note('::3', 'a'), false);
  assert.equal(viewers.note('::1', 'a'), true);
  passMs(5000);
  assert.equal(viewers.note('::2', 'a'), true, 'kept alive just in time');
  assert.equal(viewers.note('::3', 'a'), false);
  passMs(5000);
  assert.equal(viewers.note('::3', 'a'), true, 'the first one has left');
  assert.equal(viewers.count, 2);
});

test('a long user agent takes no more memory than a short one', () => {
  const { viewers } = viewersOf(10);
  viewers.note('::1', 'x'.repeat(10_000));
  viewers.note('::1', `${'x'.repeat(9_000)}y`);
  assert.equal(viewers.count, 1);
});
