import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Packet, SegmentMark } from '#media/packet.ts';
import { AUDIO_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { SegmentMarker } from './segment-marker.ts';

type Marked = SegmentMark & { readonly atS: number };

/** Marks a video with a keyframe every `gop` frames and times in whole milliseconds. Returns the starts of segments in seconds. */
function marksOf(
  marker: SegmentMarker,
  { fps, gop, seconds }: { fps: number; gop: number; seconds: number },
): Marked[] {
  return Array.from({ length: Math.floor(fps * seconds) }, (_, frame) => {
    const packet = packetAt(VIDEO_TRACK, Math.round((frame * 1000) / fps), { keyframe: frame % gop === 0 });
    return marker.mark(packet, VIDEO_TRACK);
  }).flatMap((packet) => (packet?.mark === undefined ? [] : [{ ...packet.mark, atS: packet.dts / 90_000 }]));
}

const newMarker = ({ continued = false, targetDurationS = 4 } = {}) =>
  new SegmentMarker({ targetDurationS, continued });
const rounded = (marks: readonly Marked[]) => marks.map(({ atS }) => Math.round(atS * 100) / 100);
const markOf = (marker: SegmentMarker, packet: Packet) =>
  marker.mark(packet, packet.kind === 'video' ? VIDEO_TRACK : AUDIO_TRACK)?.mark;
const key = (milliseconds: number, delayMs = 0) => packetAt(VIDEO_TRACK, milliseconds, { keyframe: true, delayMs });
const frame = (milliseconds: number) => packetAt(VIDEO_TRACK, milliseconds);
const cutsOf = ({ cuts }: SegmentMarker) => cuts.map(({ ordinal, atS }) => [ordinal, Math.round(atS * 1000) / 1000]);

test('a segment ends at the first keyframe after two seconds', () => {
  assert.deepEqual(rounded(marksOf(newMarker(), { fps: 30, gop: 60, seconds: 7 })), [0, 2, 4, 6]);
  assert.deepEqual(rounded(marksOf(newMarker(), { fps: 30, gop: 30, seconds: 7 })), [0, 2, 4, 6]);
  assert.deepEqual(rounded(marksOf(newMarker(), { fps: 25, gop: 75, seconds: 7 })), [0, 3, 6]);
});

test('a keyframe every two seconds begins a segment although its times are rounded to milliseconds', () => {
  const marks = marksOf(newMarker(), { fps: 30_000 / 1001, gop: 60, seconds: 60 });
  assert.equal(marks.length, 30);
  assert.ok(marks.every(({ independent }) => independent));
});

test('every segment but the second begins with a keyframe when the frames that are counted as two seconds last a little longer', () => {
  for (const [fps, gop] of [
    [29.7, 60],
    [29.5, 60],
    [30, 61],
    [24, 50],
    [27.5, 60],
    [14.9, 30],
  ] as const) {
    const marks = marksOf(newMarker({ targetDurationS: 2 }), { fps, gop, seconds: 30 });
    assert.ok(marks.length > 10);
    // The second segment may begin without a keyframe, because the interval is not known yet.
    const dependent = marks.flatMap(({ independent }, index) => (independent ? [] : [index]));
    assert.ok(
      dependent.every((index) => index === 1),
      `${gop} frames at ${fps} fps`,
    );
  }
});

test('keyframes that come twice or more often in a little more than two seconds do not make segments shorter', () => {
  for (const [fps, gop, frames] of [
    [29.7, 30, 60],
    [59.4, 60, 120],
    [29.7, 15, 60],
    [29.7, 20, 60],
    [29.5, 30, 60],
    [30, 30, 60],
  ] as const) {
    const marks = marksOf(newMarker({ targetDurationS: 2 }), { fps, gop, seconds: 30 });
    const starts = marks.map(({ atS }) => Math.round(atS * fps));
    assert.deepEqual(
      starts,
      starts.map((_, index) => index * frames),
      `a keyframe every ${gop} frames at ${fps} fps`,
    );
    assert.ok(marks.every(({ independent }) => independent));
  }
});

test('a segment is not longer than the target duration where keyframes are more than a fifth of a second late', () => {
  const marks = marksOf(newMarker({ targetDurationS: 2 }), { fps: 25, gop: 60, seconds: 7 });
  assert.deepEqual(rounded(marks), [0, 2, 2.4, 4.4, 4.8, 6.8]);
  for (const fps of [1, 1.2, 2, 3, 4]) {
    const starts = marksOf(newMarker({ targetDurationS: 2 }), { fps, gop: 1000, seconds: 60 }).map(({ atS }) => atS);
    assert.ok(
      starts.slice(1).every((atS, index) => atS - starts[index]! <= 2.2),
      `${fps} fps`,
    );
  }
});

test('a segment ends before two seconds where the next keyframe would come too late', () => {
  const independent = ({ fps, gop }: { fps: number; gop: number }) =>
    marksOf(newMarker({ targetDurationS: 2 }), { fps, gop, seconds: 7 }).map((mark) => {
      assert.equal(mark.independent, true);
      return Math.round(mark.atS * 100) / 100;
    });
  assert.deepEqual(independent({ fps: 25, gop: 48 }), [0, 1.92, 3.84, 5.76]);
  assert.deepEqual(independent({ fps: 30, gop: 21 }), [0, 1.4, 2.8, 4.2, 5.6]);
  assert.deepEqual(independent({ fps: 30_000 / 1001, gop: 30 }), [0, 2, 4, 6.01]);
});

test('every segment begins with a keyframe, wherever an encoder adds some', () => {
  const addedAt = fc.uniqueArray(fc.integer({ min: 60, max: 400 }), { maxLength: 4 });
  fc.assert(
    fc.property(addedAt, fc.integer({ min: 5, max: 60 }), (added, gop) => {
      const marker = newMarker({ targetDurationS: 2 });
      let keyframeAt = 0;
      for (let at = 0; at < 600; at += 1) {
        const keyframe = at === 0 || at - keyframeAt === gop || added.includes(at);
        if (keyframe) keyframeAt = at;
        const mark = markOf(marker, keyframe ? key(Math.round(at * 33.333)) : frame(Math.round(at * 33.333)));
        assert.notEqual(mark?.independent, false, `at ${at}`);
      }
    }),
  );
});

test('a keyframe at a scene cut leaves no more than one segment without one where the usual interval is not known', () => {
  const marker = newMarker({ targetDurationS: 2 });
  const marks = Array.from({ length: 300 }, (_, at) => {
    const milliseconds = Math.round(at * 33.333);
    return markOf(marker, at === 0 || at % 60 === 20 ? key(milliseconds) : frame(milliseconds))?.independent;
  });
  assert.deepEqual(
    marks.flatMap((independent, at) => (independent === undefined ? [] : [[at, independent]])),
    [
      [0, true],
      [65, false],
      [80, true],
      [140, true],
      [200, true],
      [260, true],
    ],
  );
});

test('open groups of pictures, of which the first is shorter, begin every segment', () => {
  const marker = newMarker({ targetDurationS: 2 });
  const starts: number[] = [];
  for (let at = 0; at < 200; at += 1) {
    const isOpen = at % 30 === 28;
    const packet = packetAt(VIDEO_TRACK, Math.round((at * 1000) / 30), {
      keyframe: at === 0 || isOpen,
      delayMs: isOpen ? 133 : 67,
    });
    const { mark } = marker.mark(packet, VIDEO_TRACK) ?? {};
    assert.notEqual(mark?.independent, false);
    if (mark !== undefined) starts.push(at);
  }
  assert.deepEqual(starts, [0, 58, 118, 178]);
});

test("with OBS's default of a keyframe every 250 frames, segments end at the last frame within the target duration, and at each keyframe", () => {
  const marks = marksOf(newMarker(), { fps: 30, gop: 250, seconds: 26 });
  assert.deepEqual(rounded(marks), [0, 4, 8, 8.33, 12.33, 16.33, 16.67, 20.67, 24.67, 25]);
  assert.deepEqual(rounded(marks.filter(({ independent }) => independent)), [0, 8.33, 16.67, 25]);
});

test('nothing passes before the first keyframe', () => {
  const marker = newMarker();
  assert.equal(marker.mark(frame(0), VIDEO_TRACK), undefined);
  assert.equal(marker.isWaiting, true);
  assert.deepEqual(markOf(marker, key(40)), {
    ordinal: 0,
    independent: true,
    discontinuity: false,
    discontinuitiesBefore: 0,
  });
  assert.equal(marker.isWaiting, false);
});

test('the first segment of a session resumed after a restart is a discontinuity', () => {
  assert.equal(markOf(newMarker({ continued: true }), key(40))?.discontinuity, true);
});

test('other renditions are cut by the presentation times of the video, and not by its decoding times', () => {
  const marker = newMarker();
  marker.mark(key(0, 80), VIDEO_TRACK);
  assert.deepEqual(cutsOf(marker), [[0, 0.08]]);
});

test('other renditions are cut at the frame of an open GOP that is shown first, before its keyframe', () => {
  const marker = newMarker();
  marker.mark(key(0, 80), VIDEO_TRACK);
  marker.mark(key(2000, 160), VIDEO_TRACK);
  assert.deepEqual(cutsOf(marker), [
    [0, 0.08],
    [1, 2.08],
  ]);
});

test('a discontinuity begins at the next keyframe, nothing passes before it, and segments count earlier discontinuities', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.discontinue();
  assert.equal(marker.mark(frame(40), VIDEO_TRACK), undefined);
  assert.deepEqual(markOf(marker, key(80)), {
    ordinal: 1,
    independent: true,
    discontinuity: true,
    discontinuitiesBefore: 0,
  });
  assert.deepEqual(markOf(marker, key(2080)), {
    ordinal: 2,
    independent: true,
    discontinuity: false,
    discontinuitiesBefore: 1,
  });
});

test('after an interruption nothing passes before the next keyframe, which begins a segment without a discontinuity', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.interrupt();
  assert.equal(marker.mark(frame(40), VIDEO_TRACK), undefined);
  assert.deepEqual(markOf(marker, key(80)), {
    ordinal: 1,
    independent: true,
    discontinuity: false,
    discontinuitiesBefore: 0,
  });
});

test('after an interruption, or a discontinuity, the segments of the time without the leader are cut up to its return', () => {
  for (const lose of ['interrupt', 'discontinue'] as const) {
    const marker = newMarker({ targetDurationS: 2 });
    markOf(marker, key(0));
    marker[lose]();
    marker.pass(2.3);
    markOf(marker, key(5000));
    assert.deepEqual(cutsOf(marker), [
      [0, 0],
      [1, 2.35],
      [2, 4.7],
      [3, 5],
    ]);
  }
});

test('an interruption after a discontinuity that has not begun is a discontinuity', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.discontinue();
  marker.interrupt();
  assert.equal(markOf(marker, key(80))?.discontinuity, true);
});

test('when the leader pauses, segments continue, and the leader begins one when it comes back with a keyframe', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.pass(21.4);
  assert.deepEqual(cutsOf(marker), [
    [0, 0],
    [1, 4.35],
    [2, 8.7],
    [3, 13.05],
    [4, 17.4],
  ]);
  assert.equal(markOf(marker, key(21_400))?.ordinal, 5);
});

test('a leader that comes back without a keyframe continues the segment that began without it, until a keyframe begins one', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.pass(9.9);
  assert.deepEqual(markOf(marker, frame(9900)), {
    ordinal: 2,
    independent: false,
    discontinuity: false,
    discontinuitiesBefore: 0,
  });
  assert.equal(markOf(marker, frame(9940)), undefined);
  assert.equal(markOf(marker, key(9980))?.ordinal, 3);
});

test('a keyframe soon after a segment began without the leader begins that segment, unless there is a discontinuity', () => {
  const marker = newMarker();
  markOf(marker, key(0));
  marker.pass(4.5);
  assert.equal(markOf(marker, key(4300))?.ordinal, 1);
  marker.pass(9);
  marker.discontinue();
  assert.deepEqual(
    [markOf(marker, key(9000))].map((mark) => [mark?.ordinal, mark?.discontinuity]),
    [[3, true]],
  );
});

test('a pause of the leader without other tracks is cut into segments within the target duration', () => {
  const marker = newMarker();
  markOf(marker, key(3_600_000));
  assert.equal(markOf(marker, frame(3_604_480))?.ordinal, 1);
  assert.equal(markOf(marker, frame(3_604_480 + 12_600))?.ordinal, 5);
  const lengths = marker.cuts.slice(1).map(({ atS }, index) => atS - marker.cuts[index]!.atS);
  assert.ok(lengths.every((lengthS) => lengthS < 4.49));
});

test('an audio-only session is cut every two seconds', () => {
  const marker = newMarker();
  const marks = Array.from({ length: 300 }, (_, index) => markOf(marker, packetAt(AUDIO_TRACK, index * 21.333)));
  assert.deepEqual(
    marks.flatMap((mark, index) => (mark === undefined ? [] : [Math.round(index * 0.021333 * 10) / 10])),
    [0, 2, 4, 6],
  );
});

test('video that appears late takes the lead at its first keyframe', () => {
  const marker = newMarker();
  for (let time = 0; time < 1000; time += 21.333) markOf(marker, packetAt(AUDIO_TRACK, time));
  marker.changeLeader();
  assert.equal(marker.isWaiting, false, 'audio goes on');
  assert.equal(marker.mark(frame(1000), VIDEO_TRACK), undefined);
  assert.equal(markOf(marker, key(1040))?.ordinal, 1);
});

test('for any keyframes, ordinals rise by one and segments keep the target duration', () => {
  const frames = fc.array(fc.record({ keyframe: fc.boolean(), durationMs: fc.integer({ min: 5, max: 200 }) }), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(frames, (list) => {
      const marker = newMarker();
      const marks: Marked[] = [];
      let now = 0;
      for (const { keyframe, durationMs } of list) {
        const mark = markOf(marker, packetAt(VIDEO_TRACK, now, { keyframe }));
        if (mark !== undefined) marks.push({ ...mark, atS: now / 1000 });
        now += durationMs;
      }
      assert.deepEqual(
        marks.map(({ ordinal }) => ordinal),
        marks.map((_, index) => index),
      );
      for (const [index, { atS }] of marks.entries()) {
        const lengthS = (marks[index + 1]?.atS ?? atS) - atS;
        assert.ok(lengthS <= 4.4, `a segment of ${lengthS} s`); // one frame more than expected, at most
      }
    }),
  );
});
