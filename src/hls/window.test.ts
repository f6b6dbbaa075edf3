import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MediaResource } from './hls.ts';
import { ListStarts } from './list-starts.ts';
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

function filled(segments: number, durationS: number, windowS: number, listStarts = new ListStarts()): Window {
  const window = new Window({ windowS, targetDurationS: 4, listStarts });
  for (let msn = 0; msn < segments; msn += 1) write(window, msn, msn * durationS, durationS);
  return window;
}

const listed = (window: Window) => window.segments.map(({ msn }) => msn);

describe('a window', () => {
  test('lists segments of its length, and no more', () => {
    assert.deepEqual(listed(filled(30, 2, 20)), [20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });

  test('never lists less than six segments, and never less than four target durations', () => {
    assert.equal(filled(30, 4, 8).segments.length, 6);
    assert.equal(filled(60, 0.5, 8).segments.length, 32);
  });

  test('begins with the same segment as the windows of other renditions, although their segments are a little shorter', () => {
    const listStarts = new ListStarts();
    assert.deepEqual(listed(filled(30, 2, 20, listStarts))[0], 20);
    assert.deepEqual(listed(filled(30, 1.999, 20, listStarts))[0], 20);
    assert.deepEqual(listed(filled(30, 1.999, 20))[0], 19);
  });

  test('is never shorter than three target durations, wherever the windows of other renditions begin', () => {
    const listStarts = new ListStarts();
    assert.equal(listed(filled(60, 2, 12, listStarts))[0], 52);
    assert.equal(listed(filled(60, 1.999, 12, listStarts))[0], 52);
  });

  test('of a rendition that began later does not shorten the windows of others', () => {
    const listStarts = new ListStarts();
    const late = new Window({ windowS: 20, targetDurationS: 4, listStarts });
    for (let msn = 25; msn < 30; msn += 1) write(late, msn, msn * 2, 2);
    assert.deepEqual(listed(late)[0], 25);
    assert.deepEqual(listed(filled(30, 2, 20, listStarts))[0], 20);
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
    const window = filled(8, 4, 24);
    // Segments 0 and 1 left the list at 32 s, when 32 s were listed.
    assert.deepEqual(window.takeExpired(67.9), []);
    assert.deepEqual(
      window.takeExpired(68).map(({ msn }) => msn),
      [0, 1],
    );
    assert.deepEqual(window.takeExpired(1000), []);
  });

  test('begins only with every fourth segment, unless that made it more than a fourth longer than it should be', () => {
    const startsOf = (durationS: number, windowS: number) =>
      Array.from({ length: 9 }, (_, more) => listed(filled(60 + more, durationS, windowS))[0]);
    assert.deepEqual(startsOf(2, 36), [40, 40, 44, 44, 44, 44, 48, 48, 48]);
    assert.deepEqual(startsOf(6, 36), [54, 55, 56, 56, 58, 59, 60, 60, 62]);
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
