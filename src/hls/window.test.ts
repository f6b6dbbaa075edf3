import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MediaResource } from './hls.ts';
import { skippableSegments } from './media-playlist.ts';
import { Window } from './window.ts';

const resource: MediaResource = { pieces: [new Uint8Array(8)], sizeBytes: 8, contentType: 'video/mp4' };

function write(window: Window, msn: number, startS: number, durationS: number): void {
  window.begin({
    msn,
    startS,
    programDateTimeMs: startS * 1000,
    discontinuity: false,
    discontinuitySequence: 5,
    independent: true,
    init: 'init-0.mp4',
  });
  window.add({ name: `${msn}.0.m4s`, durationS, independent: true, resource }, startS + durationS);
  window.complete(window.open!, startS + durationS);
}

function filled(segments: number, durationS: number, windowS: number): Window {
  const window = new Window({ windowS, targetDurationS: 4 });
  for (let msn = 0; msn < segments; msn += 1) write(window, msn, msn * durationS, durationS);
  return window;
}

const listed = (window: Window) => window.segments.map(({ msn }) => msn);

describe('a window', () => {
  test('lists segments of its length, and no more', () => {
    assert.deepEqual(listed(filled(30, 2, 20)), [20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });

  test('never lists less than six segments, and never less than three target durations', () => {
    assert.equal(filled(30, 4, 8).segments.length, 6);
    assert.equal(filled(60, 0.5, 8).segments.length, 24);
  });

  test('begins again where a segment does not follow the previous one, and keeps the old segments fetchable', () => {
    const window = filled(7, 4, 24);
    write(window, 20, 80, 4);
    assert.deepEqual(listed(window), [20]);
    assert.deepEqual(
      window.takeExpired(1000).map(({ msn }) => msn),
      [0, 1, 2, 3, 4, 5, 6],
    );
  });

  test('keeps a segment that has left the list for its duration and that of the list', () => {
    const window = filled(7, 4, 24);
    // Segment 0 left the list at 28 s, when 28 s were listed.
    assert.deepEqual(window.takeExpired(59.9), []);
    assert.deepEqual(
      window.takeExpired(60).map(({ msn }) => msn),
      [0],
    );
    assert.deepEqual(window.takeExpired(1000), []);
  });

  test('frees the oldest segment early when asked to', () => {
    const window = filled(9, 4, 24);
    assert.deepEqual([window.takeRetired()?.msn, window.takeRetired()?.msn], [0, 1]);
    assert.equal(window.oldestInit, 'init-0.mp4');
  });

  test('a delta update skips the segments beyond the skip boundary, if there are any', () => {
    assert.equal(skippableSegments(filled(18, 2, 36), 24), 5);
    assert.equal(skippableSegments(filled(13, 2, 36), 24), 0);
    assert.equal(skippableSegments(filled(14, 2, 36), 24), 1);
  });
});
