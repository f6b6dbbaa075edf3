import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks } from '#lib/units.ts';
import { heldPicture, type Packet, type SegmentMark } from '#media/packet.ts';
import { packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { type SegmentStart, withPacket } from './segment-start.ts';

const markOf = (ordinal: number): SegmentMark => ({ ordinal, independent: true, discontinuity: false });

/** A packet shown at a time, in ms, that may begin a segment. */
function shownAt(milliseconds: number, ordinal?: number): Packet {
  const packet = packetAt(VIDEO_TRACK, milliseconds);
  return ordinal === undefined ? packet : { ...packet, mark: markOf(ordinal) };
}

function startsOf(packets: readonly Packet[], most = 10) {
  const starts = packets.reduce<readonly SegmentStart[]>((known, packet) => withPacket(known, packet, most), []);
  return starts.map(({ mark, firstPts, lastPts }) => [mark.ordinal, firstPts / 90, lastPts / 90]);
}

test('a segment begins with what is shown first of it, wherever that comes behind its mark', () => {
  const packets = [shownAt(0, 0), shownAt(120), shownAt(40), shownAt(80), shownAt(240, 1), shownAt(200), shownAt(160)];
  assert.deepEqual(startsOf(packets), [
    [0, 0, 0],
    [1, 160, 240],
  ]);
});

test('a picture held behind a start may be what it begins with', () => {
  const held = (milliseconds: number) => heldPicture(ticks(milliseconds * 90));
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
