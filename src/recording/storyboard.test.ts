import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { storyboardOf } from './storyboard.ts';

it('names the part of a sheet for each span of time, from the start to the end', () => {
  assert.equal(
    storyboardOf([2.5, 12.5, 3600], 3605.25),
    `WEBVTT

00:00:00.000 --> 00:00:12.500
sheet-0.jpg#xywh=0,0,160,90

00:00:12.500 --> 01:00:00.000
sheet-0.jpg#xywh=160,0,160,90

01:00:00.000 --> 01:00:05.250
sheet-0.jpg#xywh=320,0,160,90
`,
  );
});

it('goes on to the next row and to the next sheet', () => {
  const cues = storyboardOf(
    Array.from({ length: 101 }, (_, index) => index * 10),
    1010,
  )!.match(/sheet.*/g)!;
  assert.equal(cues[10], 'sheet-0.jpg#xywh=0,96,160,90');
  assert.equal(cues[99], 'sheet-0.jpg#xywh=1440,864,160,90');
  assert.equal(cues[100], 'sheet-1.jpg#xywh=0,0,160,90');
});

it('has no storyboard without tiles', () => {
  assert.equal(storyboardOf([], 10), undefined);
});

it('writes cues that follow one another and never end before they begin', () => {
  const positions = fc
    .array(fc.double({ min: 0, max: 100_000, noNaN: true }))
    .map((list) => list.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(positions, fc.double({ min: 0, max: 100_000, noNaN: true }), (positionsS, endS) => {
      for (const [, from, until] of storyboardOf(positionsS, endS)?.matchAll(/(\S+) --> (\S+)/g) ?? []) {
        assert.match(from!, /^\d\d:[0-5]\d:[0-5]\d\.\d{3}$/);
        assert.ok(from! < until!);
      }
    }),
  );
});
