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

test('a segment rounds to the target duration where no keyframe comes, however few frames there are', () => {
  for (const fps of [0.8, 1, 1.2, 2, 3, 4, 30]) {
    const starts = marksOf(newMarker({ targetDurationS: 2 }), { fps, gop: 1000, seconds: 60 }).map(({ atS }) => atS);
    assert.ok(
      starts.slice(1).every((atS, index) => atS - starts[index]! < 2.46),
      `${fps} fps`,
    );
  }
});

/**
 * The lengths of the segments from the second keyframe on, when the interval is known. The audio beside the video is sent `leadS` before
 * video of the same time.
 */
function steadyLengths(
  marker: SegmentMarker,
  { fps, intervalS, leadS }: Record<'fps' | 'intervalS' | 'leadS', number>,
) {
  const starts: Marked[] = [];
  const gop = Math.round(intervalS * fps);
  let audioS = 0;
  for (let frameAt = 0; frameAt < Math.max(5 * gop, 20 * fps); frameAt += 1) {
    const atS = frameAt / fps;
    const mark = markOf(marker, packetAt(VIDEO_TRACK, Math.round(atS * 1000), { keyframe: frameAt % gop === 0 }));
    if (mark !== undefined) starts.push({ ...mark, atS });
    for (; audioS <= atS + leadS; audioS += 0.021) marker.pass(audioS);
  }
  const steady = starts.filter(({ atS }) => atS > (gop - 0.5) / fps);
  return steady.slice(1).map(({ atS, independent }, index) => ({
    lengthS: atS - steady[index]!.atS,
    independent,
  }));
}

test('segments are as even as the keyframe interval allows, and round to the target duration', () => {
  for (const targetDurationS of [2, 4]) {
    for (const fps of [12, 29.7]) {
      for (const leadS of [0, 0.3]) {
        for (let tenths = 5; tenths <= 100; tenths += 1) {
          const marker = newMarker({ targetDurationS });
          const segments = steadyLengths(marker, { fps, intervalS: tenths / 10, leadS });
          const lengths = segments.map(({ lengthS }) => lengthS);
          const [least, most] = [Math.min(...lengths), Math.max(...lengths)];
          const what = `a keyframe every ${tenths / 10} s at ${fps} fps, audio ${leadS} s ahead: ${least} to ${most} s`;
          assert.ok(lengths.length > 2, what);
          // Audio that is ahead of the video may reach the next cut before a keyframe that is late.
          assert.ok(least > most * (leadS === 0 ? 0.7 : 0.45), what);
          assert.ok(most < targetDurationS + 0.49, what);
          if (leadS === 0 && tenths / 10 <= targetDurationS + 0.45 - 1 / fps)
            assert.ok(
              segments.every(({ independent }) => independent),
              what,
            );
        }
      }
    }
  }
});

test('the lengths of the segments for keyframe intervals of 0.5 to 10 s', () => {
  const table = Object.fromEntries(
    [0.5, 0.7, 1.1, 1.9, 2.2, 2.4, 2.5, 3, 4.1, 5, 8.3, 10].map((intervalS) => {
      const marks = marksOf(newMarker({ targetDurationS: 2 }), {
        fps: 30,
        gop: Math.round(intervalS * 30),
        seconds: 25,
      });
      const lengths = marks.slice(1).map(({ atS }, index) => (atS - marks[index]!.atS).toFixed(1));
      return [intervalS, lengths.slice(0, 8).join(' ')];
    }),
  );
  assert.deepEqual(table, {
    0.5: '2.0 2.0 2.0 2.0 2.0 2.0 2.0 2.0',
    0.7: '1.4 1.4 1.4 1.4 1.4 1.4 1.4 1.4',
    1.1: '1.1 1.1 1.1 1.1 1.1 1.1 1.1 1.1',
    1.9: '1.9 1.9 1.9 1.9 1.9 1.9 1.9 1.9',
    2.2: '2.2 2.2 2.2 2.2 2.2 2.2 2.2 2.2',
    2.4: '2.4 2.4 2.4 2.4 2.4 2.4 2.4 2.4',
    // The interval is not known before the second keyframe.
    2.5: '2.4 0.1 1.3 1.2 1.3 1.2 1.3 1.2',
    3: '2.4 0.6 1.5 1.5 1.5 1.5 1.5 1.5',
    4.1: '2.4 1.7 2.1 2.0 2.1 2.0 2.1 2.0',
    5: '2.4 2.0 0.6 1.7 1.7 1.7 1.7 1.7',
    8.3: '2.4 2.0 2.0 1.9 2.1 2.1 2.1 2.1',
    10: '2.4 2.0 2.0 2.0 1.6 2.0 2.0 2.0',
  });
});

test('the wait for a keyframe is shorter beside audio with long packets, whose segments may be one packet longer', () => {
  for (const packetS of [1024 / 48_000, 1024 / 22_050, 0.12, 1024 / 8000]) {
    const marker = newMarker({ targetDurationS: 2 });
    marker.setAudioPacketS(packetS);
    const marks = marksOf(marker, { fps: 30, gop: 1000, seconds: 8 });
    assert.ok(marks[1]!.atS > 2.3);
    assert.ok(marks[1]!.atS + packetS < 2.5, `packets of ${packetS} s`);
    marker.pass(20);
    const cuts = marker.cuts.slice(-3).map(({ atS }) => atS);
    assert.ok(cuts[2]! - cuts[1]! + packetS < 2.5);
  }
});

test('a keyframe that comes a little before the cut that audio caused begins a segment that is no longer than others', () => {
  const marker = newMarker({ targetDurationS: 2 });
  markOf(marker, key(0));
  for (let at = 30; at < 2160; at += 30) assert.equal(markOf(marker, frame(at)), undefined);
  marker.pass(2.46);
  assert.equal(markOf(marker, key(2160))?.ordinal, 1);
  marker.pass(4.62);
  assert.deepEqual(cutsOf(marker), [
    [0, 0],
    [1, 2.42],
    [2, 4.58],
  ]);
});

test('a keyframe at a scene cut does not begin a segment before the one that audio has begun', () => {
  const marker = newMarker({ targetDurationS: 2 });
  for (let at = 0; at < 4010; at += 40) markOf(marker, at % 2000 === 0 ? key(at) : frame(at));
  marker.pass(6.46);
  const marks = [6010, 6250, 8010].map((at) => markOf(marker, key(at))?.ordinal);
  assert.deepEqual(marks, [3, undefined, 4]);
  const [before, after] = cutsOf(marker).slice(-2);
  assert.ok(before![1]! < after![1]!);
});

test('no cut is earlier than the one before it, however far the video lags behind its audio', () => {
  const stalls = fc.record({
    gop: fc.integer({ min: 10, max: 90 }),
    fromFrame: fc.integer({ min: 1, max: 300 }),
    stallS: fc.integer({ min: 1, max: 90 }).map((tenths) => tenths / 10),
    delayMs: fc.constantFrom(0, 80),
  });
  fc.assert(
    fc.property(stalls, ({ gop, fromFrame, stallS, delayMs }) => {
      const marker = newMarker({ targetDurationS: 2 });
      for (let at = 0; at < 600; at += 1) {
        const packet = packetAt(VIDEO_TRACK, Math.round(at * 33.333), { keyframe: at % gop === 0, delayMs });
        marker.pass(at < fromFrame ? at / 30 : Math.max(at / 30, fromFrame / 30 + stallS));
        markOf(marker, packet);
      }
      const cuts = marker.cuts.map(({ atS }) => atS);
      for (const [index, atS] of cuts.slice(1).entries()) assert.ok(atS > cuts[index]!, cuts.join(' '));
    }),
    { numRuns: 300 },
  );
});

test('a segment ends at an expected keyframe although frames before the keyframe are missing', () => {
  for (const [targetDurationS, gop] of [
    [2, 60],
    [2, 66],
    [4, 120],
  ] as const) {
    for (let lost = 10; lost < gop; lost += 1) {
      for (let from = 1; from + lost <= gop; from += 3) {
        const marker = newMarker({ targetDurationS });
        for (let at = 0; at < 6 * gop; at += 1) {
          if (at >= 3 * gop + from && at < 3 * gop + from + lost) continue;
          const mark = markOf(marker, packetAt(VIDEO_TRACK, Math.round(at * 33.333), { keyframe: at % gop === 0 }));
          if (at >= 2 * gop) assert.equal(mark !== undefined, at % gop === 0, `${lost} frames, at ${at} of ${gop}`);
        }
      }
    }
  }
});

test('a pause of the video while its audio goes on does not end a segment before a keyframe that is expected', () => {
  for (const gop of [30, 60, 66, 72]) {
    for (const leadS of [0, 0.15, 0.3]) {
      for (const lost of [9, 15, 30]) {
        for (let from = 1; from + lost <= gop; from += 2) {
          const marker = newMarker({ targetDurationS: 2 });
          let audioS = 0;
          for (let at = 0; at < 6 * gop; at += 1) {
            for (; audioS < at / 30 + leadS; audioS += 0.021) marker.pass(audioS);
            if (at >= 3 * gop + from && at < 3 * gop + from + lost) continue;
            const mark = markOf(marker, packetAt(VIDEO_TRACK, Math.round(at * 33.333), { keyframe: at % gop === 0 }));
            const what = `${lost} of ${gop} frames missing after ${from}, audio ${leadS} s ahead, at ${at}`;
            if (at >= 2 * gop) assert.notEqual(mark?.independent, false, what);
          }
        }
      }
    }
  }
});

test('a pause that delays or loses a keyframe makes at most one segment without a keyframe, and none if the keyframe still comes in time', () => {
  for (const isDelayed of [false, true]) {
    for (const gop of [30, 60, 66, 72]) {
      for (const paused of [9, 15, 30, 75]) {
        const marker = newMarker({ targetDurationS: 2 });
        const from = 4 * gop - 5;
        const dependent: number[] = [];
        for (let at = 0; at < 12 * gop; at += 1) {
          if (!isDelayed && at >= from && at < from + paused) continue;
          const atMs = Math.round((isDelayed && at >= from ? at + paused : at) * 33.333);
          const mark = markOf(marker, packetAt(VIDEO_TRACK, atMs, { keyframe: at % gop === 0 }));
          if (mark?.independent === false) dependent.push(at);
        }
        const what = `a pause of ${paused} frames of ${gop}, ${isDelayed ? 'delayed' : 'lost'}, ${dependent.join(' ')}`;
        // A keyframe that is 0.3 s late comes 2.3 s after the beginning of the segment that it ends.
        const isInTime = isDelayed && gop <= 60 && paused === 9;
        assert.ok(dependent.length <= (isInTime ? 0 : 1), what);
      }
    }
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
      [73, false],
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

test("with OBS's default of a keyframe every 250 frames, segments between the keyframes are even once the interval is known", () => {
  const marks = marksOf(newMarker(), { fps: 30, gop: 250, seconds: 26 });
  assert.deepEqual(rounded(marks), [0, 4.43, 8.33, 12.5, 16.67, 20.83, 25]);
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

test('segments are cut while the leader is absent, except the last one if it can be filled up to the keyframe with which the leader returns', () => {
  for (const lose of ['interrupt', 'discontinue'] as const) {
    for (const [passedS, keyframeS, cuts] of [
      [2.3, 5, [0, 2.35, 4.7, 5]],
      [2.36, 4.8, [0, 2.35, 4.8]],
      [0, 2.4, [0, 2.4]],
    ] as const) {
      const marker = newMarker({ targetDurationS: 2 });
      markOf(marker, key(0));
      marker[lose]();
      marker.pass(passedS);
      markOf(marker, key(keyframeS * 1000));
      assert.deepEqual(cutsOf(marker), [...cuts.entries()]);
    }
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
    [1, 4.45],
    [2, 8.9],
    [3, 13.35],
    [4, 17.8],
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

test('the cuts in a pause of the leader are in presentation time, as all other cuts are', () => {
  const marker = newMarker({ targetDurationS: 2 });
  markOf(marker, key(0, 300));
  markOf(marker, packetAt(VIDEO_TRACK, 4480, { delayMs: 300 }));
  assert.deepEqual(cutsOf(marker), [
    [0, 0.3],
    [1, 2.54],
    [2, 4.78],
  ]);
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
        assert.ok(lengthS <= 4.65, `a segment of ${lengthS} s`); // one frame more than expected, at most
      }
    }),
  );
});
