import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spansOf, wallTimeOf } from './wall-time.ts';

/** Two segments, 20 s without the publisher, a segment that was not recorded, and one that was. */
const PLAYLIST = `#EXTM3U
#EXT-X-TARGETDURATION:4
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T12:00:00.000Z
#EXTINF:4.000,
0.m4s
#EXTINF:2.000,
1.m4s
#EXT-X-DISCONTINUITY
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T12:00:26.000Z
#EXTINF:4.000,
#EXT-X-GAP
2.m4s
#EXTINF:4.000,
3.m4s
#EXT-X-ENDLIST
`;
const START = Date.parse('2026-11-25T12:00:00.000Z');
const secondsOf = (positionsS: readonly number[], fromMs: number) => {
  const spans = spansOf(PLAYLIST, fromMs);
  return positionsS.map((each) => (wallTimeOf(spans, each)! - START) / 1000);
};

test('a position after a pause or a gap is a time after it', () => {
  assert.deepEqual(secondsOf([0, 1.5, 5.9995, 6, 8, 9.5], START), [0, 1.5, 6, 30, 32, 33.5]);
});

test('positions in a clip are counted from its first frame, which is in the middle of a segment', () => {
  assert.deepEqual(secondsOf([0, 1, 2.5], START + 4500), [4.5, 5.5, 31]);
});

test('a position after the end is the end, and there is no time without media', () => {
  assert.deepEqual(secondsOf([10, 99], START), [34, 34]);
  assert.equal(wallTimeOf(spansOf('', START), 0), undefined);
});
