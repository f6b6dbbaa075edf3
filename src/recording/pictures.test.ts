import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PlacedPicture } from './picture-file.ts';
import { posterAt, tilesOf } from './pictures.ts';
import { RecordingIndex } from './recording-index.ts';

/** A recording of segments of four seconds that begin at these times, in seconds. */
function leaderOf(...startsS: readonly number[]) {
  const index = new RecordingIndex();
  const track = { kind: 'video', codec: 'h264', rfc6381: 'avc1', timescale: 90_000, width: 1, height: 1 } as const;
  const described = { ...track, declaredFrameRate: 30, videoRange: undefined };
  index.apply({ type: 'init', rendition: 0, id: 'source', number: 0, track: described, bytes: new Uint8Array() });
  for (const [number, startS] of startsS.entries()) {
    const startTicks = startS * 90_000;
    const place = { volume: 0, offset: 0, init: 0, startTicks, programDateTimeMs: startS * 1000 };
    index.apply({ type: 'segment', rendition: 0, number, ...place, discontinuity: false, independent: true });
    index.apply({ type: 'part', rendition: 0, sizeBytes: 1, samples: 1, durationTicks: 4 * 90_000 });
    index.apply({ type: 'segment_end', rendition: 0, durationTicks: 4 * 90_000 });
  }
  return index.leader!;
}

const picture = (kind: PlacedPicture['kind'], atS: number): PlacedPicture => {
  return { kind, atMs: atS * 1000, period: 0, offset: atS, sizeBytes: 1 };
};
const ALL = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY };

it('places tiles in the time of the playlist, without the times that were left out', () => {
  const pictures = [
    picture('tile', 1),
    picture('poster', 2),
    picture('tile', 11),
    picture('tile', 21),
    picture('tile', 23),
  ];
  const { tiles, endS } = tilesOf(pictures, leaderOf(0, 4, 20), { first: 0, last: 9 }, ALL);
  assert.deepEqual(
    tiles.map(({ positionS, picture: { atMs } }) => [atMs, positionS]),
    [
      [1000, 1],
      [21_000, 9],
      [23_000, 11],
    ],
  );
  assert.equal(endS, 12);
});

it('shows the newest tile from before the first segment at its beginning', () => {
  const pictures = [1, 3, 12].map((atS) => picture('tile', atS));
  const { tiles } = tilesOf(pictures, leaderOf(8, 12), { first: 0, last: 9 }, ALL);
  assert.deepEqual(
    tiles.map(({ positionS, picture: { atMs } }) => [atMs, positionS]),
    [
      [3000, 0],
      [12_000, 4],
    ],
  );
});

it('places the tiles of an excerpt from the beginning of its first segment, and shows none around it', () => {
  const pictures = [1, 5, 6, 10].map((atS) => picture('tile', atS));
  const span = { fromMs: 6000, untilMs: 10_000 };
  const { tiles, endS } = tilesOf(pictures, leaderOf(0, 4, 8, 12), { first: 1, last: 2 }, span);
  assert.deepEqual(
    tiles.map(({ positionS }) => positionS),
    [2],
  );
  assert.equal(endS, 8);
});

it('finds the newest poster before a time within the span, or the first one', () => {
  const pictures = [picture('poster', 0), picture('tile', 4), picture('poster', 5), picture('poster', 10)];
  const at = (atS: number, span = ALL) => posterAt(pictures, span, atS * 1000)?.atMs;
  assert.deepEqual([at(-1), at(0), at(7), at(99)], [0, 0, 5000, 10_000]);
  assert.deepEqual([at(0, { fromMs: 4000, untilMs: 9000 }), at(99, { fromMs: 4000, untilMs: 9000 })], [5000, 5000]);
  assert.equal(at(0, { fromMs: 6000, untilMs: 9000 }), undefined);
});
