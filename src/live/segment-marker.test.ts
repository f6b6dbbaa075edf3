import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ticks } from '#lib/units.ts';
import { heldPicture, type Packet, type SegmentMark } from '#media/packet.ts';
import { AUDIO_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { SegmentMarker } from './segment-marker.ts';

type Cut = SegmentMark & { readonly at: number };

/** Marks a video of `fps` with a keyframe every `gop` frames, times in whole milliseconds; gives the cuts in seconds. */
function cutsOf(marker: SegmentMarker, { fps, gop, seconds }: { fps: number; gop: number; seconds: number }): Cut[] {
  return Array.from({ length: Math.floor(fps * seconds) }, (_, frame) => {
    const packet = packetAt(VIDEO_TRACK, Math.round((frame * 1000) / fps), { keyframe: frame % gop === 0 });
    return marker.mark(packet, VIDEO_TRACK);
  }).flatMap((packet) => (packet?.mark === undefined ? [] : [{ ...packet.mark, at: packet.dts / 90_000 }]));
}

const newMarker = (leader: 'video' | 'audio' = 'video') => new SegmentMarker({ targetDurationS: 4, leader });
const rounded = (cuts: readonly Cut[]) => cuts.map((cut) => Math.round(cut.at * 100) / 100);
const markOf = (marker: SegmentMarker, packet: Packet) =>
  marker.mark(packet, packet.kind === 'video' ? VIDEO_TRACK : AUDIO_TRACK)?.mark;

test('a segment ends at the first keyframe after two seconds', () => {
  assert.deepEqual(rounded(cutsOf(newMarker(), { fps: 30, gop: 60, seconds: 7 })), [0, 2, 4, 6]);
  assert.deepEqual(rounded(cutsOf(newMarker(), { fps: 30, gop: 30, seconds: 7 })), [0, 2, 4, 6]);
  assert.deepEqual(rounded(cutsOf(newMarker(), { fps: 25, gop: 75, seconds: 7 })), [0, 3, 6]);
});

test('a keyframe every two seconds cuts although its times are rounded to milliseconds', () => {
  const cuts = cutsOf(newMarker(), { fps: 30_000 / 1001, gop: 60, seconds: 60 });
  assert.equal(cuts.length, 30);
  assert.ok(cuts.every((cut) => cut.independent));
});

test("OBS's default of a keyframe every 250 frames is cut at the last frame within the target duration", () => {
  const cuts = cutsOf(newMarker(), { fps: 30, gop: 250, seconds: 51 });
  assert.deepEqual(rounded(cuts), [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 50]);
  assert.deepEqual(
    cuts.filter((cut) => cut.independent).map((cut) => Math.round(cut.at)),
    [0, 50], // its keyframes come every 8.33 s: the first that stands two seconds into a segment is the sixth
  );
});

test('nothing passes before the first keyframe', () => {
  const marker = newMarker();
  assert.equal(marker.mark(packetAt(VIDEO_TRACK, 0), VIDEO_TRACK), undefined);
  assert.equal(marker.mark(packetAt(AUDIO_TRACK, 0), AUDIO_TRACK), undefined);
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 40, { keyframe: true })), {
    ordinal: 0,
    independent: true,
    discontinuity: false,
  });
});

test('audio is cut where the video is presented, not where it is decoded', () => {
  const marker = newMarker();
  marker.mark(packetAt(VIDEO_TRACK, 0, { keyframe: true, delayMs: 80 }), VIDEO_TRACK);
  assert.equal(marker.mark(packetAt(AUDIO_TRACK, 60), AUDIO_TRACK), undefined);
  assert.equal(markOf(marker, packetAt(AUDIO_TRACK, 82))?.ordinal, 0);
  assert.equal(marker.mark(packetAt(AUDIO_TRACK, 103), AUDIO_TRACK)?.mark, undefined);
});

test('audio is cut with what is shown first of an open group of pictures, which comes before its keyframe', () => {
  const marker = newMarker();
  const shown = [0, 80].map((delayMs, index) =>
    packetAt(VIDEO_TRACK, index * 2000, { keyframe: true, delayMs: 80 + delayMs }),
  );
  marker.mark(shown[0]!, VIDEO_TRACK);
  assert.equal(markOf(marker, packetAt(AUDIO_TRACK, 82))?.ordinal, 0);
  marker.mark(shown[1]!, VIDEO_TRACK);
  assert.equal(markOf(marker, packetAt(AUDIO_TRACK, 2060)), undefined);
  assert.equal(markOf(marker, packetAt(AUDIO_TRACK, 2082))?.ordinal, 1);
});

test('a change of configuration is a discontinuity at the next keyframe, for both tracks', () => {
  const marker = newMarker();
  markOf(marker, packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  markOf(marker, packetAt(AUDIO_TRACK, 0));
  marker.discontinue();
  assert.equal(marker.mark(packetAt(VIDEO_TRACK, 40), VIDEO_TRACK), undefined);
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 80, { keyframe: true })), {
    ordinal: 1,
    independent: true,
    discontinuity: true,
  });
  assert.deepEqual(markOf(marker, packetAt(AUDIO_TRACK, 85)), { ordinal: 1, independent: true, discontinuity: true });
});

test('after gaps the next segment has the ordinal asked for and is a discontinuity', () => {
  const marker = newMarker();
  markOf(marker, packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  marker.resume(7);
  assert.equal(marker.mark(packetAt(VIDEO_TRACK, 30_000), VIDEO_TRACK), undefined);
  assert.equal(marker.mark(packetAt(AUDIO_TRACK, 30_000), AUDIO_TRACK), undefined);
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 30_040, { keyframe: true })), {
    ordinal: 7,
    independent: true,
    discontinuity: true,
  });
});

test('when the video stops, the audio goes on being cut, and video begins a segment when it comes back', () => {
  const marker = newMarker();
  markOf(marker, packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  const ordinals = Array.from(
    { length: 1000 },
    (_, index) => markOf(marker, packetAt(AUDIO_TRACK, index * 21.333))?.ordinal,
  );
  assert.deepEqual(
    ordinals.filter((ordinal) => ordinal !== undefined),
    [0, 1, 2, 3, 4],
  );
  assert.equal(markOf(marker, packetAt(VIDEO_TRACK, 21_400, { keyframe: true }))?.ordinal, 5);
});

test('a picture that is held begins the segments cut without it, and the next one goes on in the last of them', () => {
  const marker = newMarker();
  const held = (milliseconds: number) => markOf(marker, heldPicture(ticks(milliseconds * 90)));
  assert.equal(marker.mark(heldPicture(ticks(0)), VIDEO_TRACK), undefined, 'nothing is shown yet');
  markOf(marker, packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  const marks = Array.from({ length: 300 }, (_, frame) => {
    marker.pass((frame * 33 + 500) / 1000);
    return held(frame * 33)?.ordinal;
  });
  assert.deepEqual(
    marks.flatMap((ordinal, frame) => (ordinal === undefined ? [] : [[ordinal, frame * 33]])),
    [
      [1, 4356],
      [2, 8712],
    ],
  );
  const back = packetAt(VIDEO_TRACK, 9900);
  assert.deepEqual(markOf(marker, back), { ordinal: 2, independent: false, discontinuity: false });
  assert.equal(markOf(marker, packetAt(VIDEO_TRACK, 9940)), undefined);
  assert.equal(markOf(marker, packetAt(VIDEO_TRACK, 9980, { keyframe: true }))?.ordinal, 3);
});

test('a keyframe that comes soon after a cut made without it begins that segment, unless nothing continues there', () => {
  const marker = newMarker();
  markOf(marker, packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  marker.pass(4.5);
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 4300, { keyframe: true })), {
    ordinal: 1,
    independent: true,
    discontinuity: false,
  });
  marker.pass(9);
  marker.discontinue();
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 9000, { keyframe: true })), {
    ordinal: 3,
    independent: true,
    discontinuity: true,
  });
});

test('segments are left out for a pause that nobody else has cut and one cannot last through', () => {
  const marker = newMarker();
  markOf(marker, packetAt(VIDEO_TRACK, 3_600_000, { keyframe: true }));
  assert.deepEqual(markOf(marker, packetAt(VIDEO_TRACK, 3_604_480)), {
    ordinal: 1,
    independent: false,
    discontinuity: false,
  });
  assert.equal(markOf(marker, packetAt(VIDEO_TRACK, 3_604_480 + 12_600))?.ordinal, 5);
});

test('an audio-only session is cut every two seconds', () => {
  const marker = newMarker('audio');
  const marks = Array.from({ length: 300 }, (_, index) => markOf(marker, packetAt(AUDIO_TRACK, index * 21.333)));
  assert.deepEqual(
    marks.flatMap((mark, index) => (mark === undefined ? [] : [Math.round(index * 0.021333 * 10) / 10])),
    [0, 2, 4, 6],
  );
});

test('video that appears late takes the lead at its first keyframe and audio follows', () => {
  const marker = newMarker('audio');
  for (let time = 0; time < 1000; time += 21.333) markOf(marker, packetAt(AUDIO_TRACK, time));
  marker.lead('video');
  assert.equal(marker.mark(packetAt(VIDEO_TRACK, 1000), VIDEO_TRACK), undefined);
  assert.equal(markOf(marker, packetAt(VIDEO_TRACK, 1040, { keyframe: true }))?.ordinal, 1);
  assert.equal(markOf(marker, packetAt(AUDIO_TRACK, 1045))?.ordinal, 1);
});

test('ordinals rise by one, segments keep the target duration and audio repeats the ordinals of the video, for any keyframes', () => {
  const frames = fc.array(fc.record({ keyframe: fc.boolean(), durationMs: fc.integer({ min: 5, max: 200 }) }), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(frames, (list) => {
      const marker = newMarker();
      const cuts: Cut[] = [];
      const audio: number[] = [];
      let now = 0;
      for (const { keyframe, durationMs } of list) {
        const video = marker.mark(packetAt(VIDEO_TRACK, now, { keyframe }), VIDEO_TRACK);
        if (video?.mark !== undefined) cuts.push({ ...video.mark, at: now / 1000 });
        const mark = markOf(marker, packetAt(AUDIO_TRACK, now));
        if (mark !== undefined) audio.push(mark.ordinal);
        now += durationMs;
      }
      assert.deepEqual(
        cuts.map((cut) => cut.ordinal),
        cuts.map((_, index) => index),
      );
      assert.deepEqual(
        audio,
        cuts.map((cut) => cut.ordinal),
      );
      for (const [index, cut] of cuts.entries()) {
        const length = (cuts[index + 1]?.at ?? cut.at) - cut.at;
        assert.ok(length <= 4.2, `a segment of ${length} s`); // one frame more than expected, at most
      }
    }),
  );
});
