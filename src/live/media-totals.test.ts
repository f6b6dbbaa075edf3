import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import { markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { MediaTotals } from './media-totals.ts';

const mark = markAt(0);

/** Adds a frame at each of these times, in seconds. */
function addAll(totals: MediaTotals, times: readonly number[]): void {
  for (const atS of times) totals.add({ type: 'packet', packet: packetAt(VIDEO_TRACK, atS * 1000) }, VIDEO_TRACK);
}

test('bytes, segments and seconds add up', () => {
  const totals = new MediaTotals();
  for (let frame = 0; frame <= 60; frame += 1) {
    const packet = { ...packetAt(VIDEO_TRACK, (frame * 1000) / 30), ...(frame % 30 === 0 && { mark }) };
    totals.add({ type: 'packet', packet }, VIDEO_TRACK);
  }
  totals.addBytes(5);
  assert.equal(totals.bytes, 5);
  assert.equal(totals.segments, 3);
  assert.ok(Math.abs(totals.seconds - 2) < 0.001);
});

test('frames that are seconds apart count, and so does the time for which one is held', () => {
  const totals = new MediaTotals();
  addAll(totals, [0, 2, 5.4]);
  for (const atS of [7.4, 9.4]) {
    totals.add({ type: 'held', pts: ticks(atS * VIDEO_TRACK.timescale), mark }, VIDEO_TRACK);
  }
  addAll(totals, [9, 10]);
  assert.equal(totals.seconds, 10);
  assert.equal(totals.segments, 2);
});

test('an interruption does not count as media', () => {
  const totals = new MediaTotals();
  addAll(totals, [0, 1, 60, 61]);
  assert.equal(totals.seconds, 2);
  totals.add({ type: 'gap', fromS: 61, untilS: 62, why: 'source_interrupted' }, VIDEO_TRACK);
  addAll(totals, [62, 63]);
  assert.equal(totals.seconds, 3);
});
