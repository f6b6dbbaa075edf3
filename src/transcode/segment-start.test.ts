import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import type { HeldEvent, PacketEvent } from '#media/session-event.ts';
import { asEvent, markAt, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { type SegmentStart, withEvent } from './segment-start.ts';

/** A packet with a presentation time in ms that may begin a segment. */
function shownAt(milliseconds: number, ordinal?: number): PacketEvent {
  const packet = packetAt(VIDEO_TRACK, milliseconds);
  return asEvent(ordinal === undefined ? packet : { ...packet, mark: markAt(ordinal) });
}

function startsOf(events: readonly (PacketEvent | HeldEvent)[], most = 10) {
  const starts = events.reduce<readonly SegmentStart[]>((known, event) => withEvent(known, event, most), []);
  return starts.map(({ mark, firstPts, lastPts }) => [mark.ordinal, firstPts / 90, lastPts / 90]);
}

test('a segment begins with its first frame in presentation order, wherever that follows its mark', () => {
  const packets = [shownAt(0, 0), shownAt(120), shownAt(40), shownAt(80), shownAt(240, 1), shownAt(200), shownAt(160)];
  assert.deepEqual(startsOf(packets), [
    [0, 0, 0],
    [1, 160, 240],
  ]);
});

test('a segment may begin with a frame that is held after its start', () => {
  const held = (milliseconds: number): HeldEvent => ({ type: 'held', pts: ticks(milliseconds * 90) });
  assert.deepEqual(startsOf([held(0), shownAt(0, 0), shownAt(40), held(100), held(133), shownAt(240, 1)]), [
    [0, 0, 133],
    [1, 240, 240],
  ]);
});

test('only the newest starts are kept, and packets before the first mark belong to none', () => {
  assert.deepEqual(startsOf([shownAt(0), shownAt(40, 0), shownAt(80, 1), shownAt(120, 2)], 2), [
    [1, 80, 80],
    [2, 120, 120],
  ]);
});
