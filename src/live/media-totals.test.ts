import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { MediaTotals } from './media-totals.ts';

const { timescale } = VIDEO_TRACK;
const mark = markAt(0);

test('bytes, segments and seconds add up', () => {
  const totals = new MediaTotals();
  let sizeBytes = 0;
  for (let frame = 0; frame <= 60; frame += 1) {
    const packet = { ...packetAt(VIDEO_TRACK, (frame * 1000) / 30), ...(frame % 30 === 0 && { mark }) };
    sizeBytes += packet.data.byteLength;
    totals.add(packet, timescale);
  }
  totals.addBytes(5);
  assert.equal(totals.bytes, sizeBytes + 5);
  assert.equal(totals.segments, 3);
  assert.ok(Math.abs(totals.seconds - 2) < 0.001);
});

test('an interruption and a step back do not count as media', () => {
  const totals = new MediaTotals();
  for (const seconds of [0, 1, 60, 61, 10, 11]) totals.add(packetAt(VIDEO_TRACK, seconds * 1000), timescale);
  assert.equal(totals.seconds, 3);
});
