import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import { indexOfSegments } from '#test/support/recording-index.ts';
import { extentOf, secondsIn } from './extent.ts';
import { RecordingIndex } from './recording-index.ts';

test('the seconds of media in an excerpt are those of its frames, and pauses do not count', () => {
  const index = indexOfSegments([0, 2, 4, 60, 62]);
  const cases: [fromS: number | undefined, untilS: number | undefined, seconds: number][] = [
    [undefined, undefined, 10],
    [0, 64, 10],
    [4, 62, 4],
    [5, 61, 2],
    [1.5, 2.5, 1],
    [20, 40, 0],
    [6, 60, 0],
    [63, 90, 1],
    [64, 90, 0],
  ];
  const time = (seconds: number | undefined) => (seconds === undefined ? undefined : ms(seconds * 1000));
  for (const [fromS, untilS, seconds] of cases) {
    assert.equal(secondsIn(index, { fromMs: time(fromS), untilMs: time(untilS) }), seconds, `${fromS} to ${untilS}`);
  }
  assert.equal(extentOf(index).durationS, 10);
  assert.equal(secondsIn(new RecordingIndex(), {}), 0);
});
