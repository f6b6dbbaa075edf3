import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPlaybackId } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { Viewers } from './viewers.ts';

const [one, other] = [newPlaybackId(), newPlaybackId()];

function viewersOf(limit: number) {
  let now = ms(0);
  const clock = { now: () => now, monotonic: () => now };
  return { viewers: new Viewers(limit, clock), passMs: (span: number) => (now = (now + span) as Milliseconds) };
}

test('a viewer counts once for each stream it watches', () => {
  const { viewers } = viewersOf(10);
  viewers.note(one, 'a');
  viewers.note(one, 'a');
  viewers.note(one, 'b');
  viewers.note(other, 'a');
  assert.equal(viewers.count, 3);
  assert.equal(viewers.countOf(one), 2);
  assert.equal(viewers.countOf(other), 1);
  assert.equal(viewers.countOf(newPlaybackId()), 0);
});

test('a viewer counts until ten seconds after the last playlist request', () => {
  const { viewers, passMs } = viewersOf(10);
  viewers.note(one, 'a');
  passMs(6000);
  viewers.note(one, 'b');
  viewers.note(one, 'a');
  passMs(9999);
  assert.equal(viewers.countOf(one), 2);
  passMs(1);
  assert.equal(viewers.countOf(one), 0);
  assert.equal(viewers.count, 0);
});

test('above the limit new viewers are refused, known ones are not, and room is made by those who left', () => {
  const { viewers, passMs } = viewersOf(2);
  assert.equal(viewers.note(one, 'a'), true);
  passMs(5000);
  assert.equal(viewers.note(other, 'b'), true);
  assert.equal(viewers.note(one, 'c'), false);
  assert.equal(viewers.countOf(one), 1, 'the one refused is not counted');
  assert.equal(viewers.note(one, 'a'), true);
  passMs(5000);
  assert.equal(viewers.note(other, 'b'), true, 'kept alive just in time');
  assert.equal(viewers.note(one, 'c'), false);
  passMs(5000);
  assert.equal(viewers.note(one, 'c'), true, 'the first one has left');
  assert.equal(viewers.count, 2);
});
