import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ms } from '#lib/units.ts';
import { VIDEO } from '#test/support/recording-index.ts';
import { isCompleteSoon, isExcerptComplete } from './needed-segments.ts';
import { RecordingIndex } from './recording-index.ts';

/** An index of renditions with segments of two seconds. @param lengths of each rendition, in seconds; a segment that is shorter is open */
function indexOf(lengths: Readonly<Record<string, number>>): RecordingIndex {
  const index = new RecordingIndex();
  for (const [rendition, [id, lengthS]] of Object.entries(lengths).entries()) {
    index.apply({ type: 'init', rendition, id, number: 0, track: VIDEO, bytes: new Uint8Array(1) });
    for (let number = 0; number * 2 < lengthS; number += 1) {
      const place = { rendition, number, volume: 0, offset: 0, init: 0, startTicks: number * 2000 };
      const flags = { discontinuity: false, independent: true };
      index.apply({ type: 'segment', ...place, programDateTimeMs: number * 2000, ...flags });
      const durationTicks = 1000 * Math.min(2, lengthS - 2 * number);
      index.apply({ type: 'part', rendition, sizeBytes: 1, samples: 1, durationTicks });
      if (durationTicks === 2000) index.apply({ type: 'segment_end', rendition, durationTicks });
    }
  }
  return index;
}

const until = (seconds: number) => ({ fromMs: ms(1000), untilMs: ms(seconds * 1000) });

describe('an excerpt of a running recording', () => {
  it('is complete when its last segment is in every rendition that still comes', () => {
    const cases: [string, Readonly<Record<string, number>>, number, boolean][] = [
      ['its last segment is open', { source: 5 }, 4.5, false],
      ['it ends with a complete segment', { source: 4 }, 4, true],
      ['nothing after its end has come', { source: 4 }, 4.5, false],
      ['the next segment has begun', { source: 6.5 }, 5.9, true],
      ['the audio is behind', { source: 6, audio: 5.9 }, 6, false],
      ['an encoder is behind', { source: 12, small: 4 }, 6, false],
      ['a rendition has ended', { source: 14, small: 2 }, 14, true],
      ['a rendition begins later', { source: 6, small: 0 }, 6, true],
    ];
    for (const [what, lengths, endS, expected] of cases) {
      assert.equal(isExcerptComplete(indexOf(lengths), until(endS)), expected, what);
    }
    assert.equal(isExcerptComplete(indexOf({ source: 4 }), { fromMs: ms(0) }), false, 'it has no end');
  });

  it('is complete soon when what is missing is recorded in a segment that has not ended', () => {
    const index = indexOf({ source: 5 });
    assert.equal(isCompleteSoon(index, until(5)), true);
    assert.equal(isCompleteSoon(index, until(9)), false, 'its end is still to come');
    assert.equal(isCompleteSoon(index, { fromMs: ms(4500) }), true, 'it has no complete segment');
    assert.equal(isCompleteSoon(index, { fromMs: ms(9000) }), false, 'it has not begun');
    assert.equal(isCompleteSoon(index, until(4)), false, 'it is complete');
    assert.equal(isCompleteSoon(new RecordingIndex(), until(4)), false, 'nothing is recorded');
  });

  it('is complete in any case once the recording has ended', () => {
    const index = indexOf({ source: 5 });
    index.apply({ type: 'end' });
    assert.equal(isExcerptComplete(index, until(9)), true);
  });
});
