import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Track, trackId } from '#media/track.ts';
import { AUDIO_TRACK as audio, packetAt as packet, VIDEO_TRACK as video } from '#test/support/tracks.ts';
import { Timeline } from './timeline.ts';

/** A track as it was selected. */
const selected = (track: Track) => ({ id: trackId(track.kind), track });

const packetAt = (track: Track, milliseconds: number, delayMs = 0) =>
  packet(track, milliseconds, { keyframe: true, delayMs });

/** Returns where a packet was placed, in ticks, or why it was not. By default it arrives long after its time. */
function placedDts(timeline: Timeline, track: Track, milliseconds: number, arrivedS = 10_000): number | string {
  const placement = timeline.place(selected(track), packetAt(track, milliseconds), arrivedS);
  return placement.type === 'placed' ? placement.packet.dts : placement.type;
}

test('the first packet is placed at the given session time, whatever its timestamp is', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 86_400_000), 12.5);
  assert.equal(placedDts(timeline, video, 86_400_000), 12.5 * 90_000);
  assert.equal(placedDts(timeline, video, 86_400_040), 12.54 * 90_000);
});

test('audio is counted in samples although its milliseconds are rounded', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  const times = Array.from({ length: 2000 }, (_, index) => Math.round((index * 1024 * 1000) / 48_000));
  assert.deepEqual(
    times.map((time) => placedDts(timeline, audio, time)),
    times.map((_, index) => index * 1024),
  );
});

test('audio from before the start is dropped and the rest keeps its distance to the video', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 100), 0);
  assert.equal(placedDts(timeline, audio, 85), 'dropped');
  assert.equal(placedDts(timeline, audio, 106), 6 * 48);
});

test('a real gap in the audio stays a gap', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, audio, 0);
  assert.equal(placedDts(timeline, audio, 500), 24_000);
});

/** AAC at a sample rate. The lower the rate, the longer the packets. The rate of HE-AAC is half of the one that players play. */
const aac = (timescale: number): Track => ({ ...audio, timescale, sampleRate: timescale });

/** Places packets of audio with these times. Returns how many were dropped, how many gaps there were, and the worst time difference. */
function placeAll(track: Track, times: readonly number[]) {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  let end: number | undefined;
  const result = { dropped: 0, gaps: 0 };
  const offsetsMs: number[] = [];
  for (const time of times) {
    const dts = placedDts(timeline, track, time);
    if (typeof dts === 'string') {
      result.dropped += 1;
      continue;
    }
    if (end !== undefined && dts > end + 1) result.gaps += 1;
    end = dts + 1024;
    offsetsMs.push((dts * 1000) / track.timescale - time);
  }
  return { ...result, offsetsMs };
}

test('audio whose packets are stamped in groups, or now and then late, is complete', () => {
  const cases: readonly (readonly [
    rate: number,
    stampMs: (index: number, packetMs: number) => number,
    gaps: number,
  ])[] = [
    [22_050, (index, packetMs) => (index - (index % 2)) * packetMs, 0],
    [16_000, (index, packetMs) => (index - (index % 2)) * packetMs, 0],
    [8000, (index, packetMs) => (index - (index % 2)) * packetMs, 0],
    [44_100, (index, packetMs) => (index - (index % 4)) * packetMs, 0],
    [48_000, (index, packetMs) => (index - (index % 4)) * packetMs, 0],
    [16_000, (index, packetMs) => (index + ((index + 1) % 2)) * packetMs, 0],
    // The first late packet leaves a gap. From then on the audio is as late as that.
    [44_100, (index, packetMs) => index * packetMs + (index % 43 === 1 ? 45 : 0), 1],
    [22_050, (index, packetMs) => index * packetMs + (index % 43 === 1 ? 45 : 0), 1],
    [16_000, (index, packetMs) => index * packetMs + (index % 30 === 1 ? 50 : 0), 1],
  ];
  for (const [index, [rate, stampMs, gaps]] of cases.entries()) {
    const times = Array.from({ length: 500 }, (_, at) => Math.round(stampMs(at, 1_024_000 / rate)));
    const { offsetsMs, ...found } = placeAll(aac(rate), times);
    assert.deepEqual(found, { dropped: 0, gaps }, `case ${index}`);
    const mostMs = Math.max(100, 1_536_000 / rate);
    assert.ok(
      offsetsMs.every((ms) => ms >= -40 && ms <= mostMs),
      `case ${index}`,
    );
  }
});

test('audio of any sample rate whose packets are lost now and then has a gap for each, and stays in step', () => {
  for (const rate of [8000, 16_000, 22_050, 24_000]) {
    const times = Array.from({ length: 500 }, (_, at) => Math.round((at * 1_024_000) / rate));
    const { dropped, gaps, offsetsMs } = placeAll(
      aac(rate),
      times.filter((_, at) => at % 50 !== 49),
    );
    assert.deepEqual([dropped, gaps], [0, 9], `${rate} Hz`);
    assert.ok(offsetsMs.every((ms) => Math.abs(ms) <= 1));
  }
});

test('audio that runs ahead of its timestamps loses a packet instead of drifting', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  const placements = Array.from({ length: 200 }, (_, index) => placedDts(timeline, audio, Math.round(index * 20)));
  const drift = Number(placements.findLast((each) => each !== 'dropped')) - 199 * 960;
  assert.ok(placements.includes('dropped'));
  assert.ok(Math.abs(drift) <= 0.1 * 48_000, `drift of ${drift} samples`);
});

test('the times of video that stands still or goes back a little keep rising', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, video, 0);
  assert.equal(placedDts(timeline, video, 40), 3600);
  assert.equal(placedDts(timeline, video, 40), 3601);
  assert.equal(placedDts(timeline, video, 20), 3602);
  assert.equal(placedDts(timeline, video, 80), 7200);
});

test('a jump of the leading track, forward or back, is reported', () => {
  for (const target of [10_000, -5000, 3_600_000]) {
    const timeline = new Timeline(selected(video), packetAt(video, 6000), 0);
    placedDts(timeline, video, 6000);
    assert.equal(placedDts(timeline, video, 6000 + target), 'jumped');
  }
});

test('video that left out frames while the audio continued is placed beside the audio', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, video, 0);
  for (let index = 0; index < 500; index++) placedDts(timeline, audio, Math.round((index * 1024) / 48));
  assert.equal(placedDts(timeline, video, 10_300), 927_000);
  assert.equal(placedDts(timeline, video, 20_000), 'jumped');
});

for (const aheadMs of [-2900, -1500, 1500, 2900]) {
  /** Sends video of these times, with the audio `aheadMs` ahead of it. Returns how it was placed. */
  const play = (timeline: Timeline, videoTimes: readonly number[]) => {
    let audioMs = videoTimes[0]! + aheadMs;
    return videoTimes.map((videoMs) => {
      for (; audioMs < videoMs + aheadMs; audioMs += 20) placedDts(timeline, audio, audioMs, videoMs / 1000);
      return placedDts(timeline, video, videoMs, videoMs / 1000);
    });
  };
  const every = (stepMs: number, fromMs: number, untilMs: number) =>
    Array.from({ length: (untilMs - fromMs) / stepMs }, (_, index) => fromMs + index * stepMs);

  test(`video with audio that is always sent ${aheadMs} ms before it may pause, and may have any frame rate`, () => {
    for (const times of [
      [...every(40, 10_000, 15_000), ...every(40, 19_000, 20_000), ...every(40, 24_000, 26_000)],
      every(1001, 10_000, 110_100),
      every(2000, 10_000, 110_000),
    ]) {
      const timeline = new Timeline(selected(video), packetAt(video, 10_000), 0);
      assert.deepEqual(
        play(timeline, times).map((dts) => Math.round(Number(dts) / 90)),
        times.map((ms) => ms - 10_000),
      );
    }
  });

  test(`a jump of video is reported although its audio is always sent ${aheadMs} ms before it`, () => {
    const timeline = new Timeline(selected(video), packetAt(video, 10_000), 0);
    play(timeline, every(40, 10_000, 15_000));
    assert.equal(placedDts(timeline, video, 15_000 + aheadMs + 4500), 'jumped');
    assert.equal(placedDts(timeline, video, 12_000), 'jumped');
  });
}

test('video alone is placed after a pause as long as it took to arrive', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, video, 0, 7);
  assert.ok(Math.abs(timeline.leaderSeconds(9)! - 2) < 0.001);
  assert.equal(placedDts(timeline, video, 60_000, 66.5), 60 * 90_000);
  assert.equal(placedDts(timeline, video, 70_000, 66.6), 'jumped');
});

test('audio that left something out while the video continued is used at once', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, audio, 0);
  for (let time = 0; time <= 5000; time += 40) placedDts(timeline, video, time);
  assert.equal(placedDts(timeline, audio, 5010), 5010 * 48);
});

test('old packets of the other track are dropped after a jump of the leader', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 5_000_000), 60);
  placedDts(timeline, video, 5_000_000);
  assert.equal(placedDts(timeline, audio, 1000), 'dropped');
  assert.equal(placedDts(timeline, audio, 5_000_010), 60 * 48_000 + 480);
});

test('a track that keeps a clock of its own is used again after a second', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  const heard = Array.from({ length: 120 }, (_, index) => {
    placedDts(timeline, video, index * 21);
    return placedDts(timeline, audio, 900_000 + Math.round((index * 1024) / 48));
  });
  assert.equal(heard[0], 'dropped');
  assert.equal(typeof heard.at(-1), 'number');
});

test('audio that is sent up to three seconds before or after its video keeps the clock of the video', () => {
  for (const aheadMs of [-2900, -1500, 1500, 2900]) {
    const timeline = new Timeline(selected(video), packetAt(video, 5000), 0);
    const placed = Array.from({ length: 300 }, (_, index) => {
      const atMs = 5000 + Math.round((index * 1024) / 48);
      placedDts(timeline, video, atMs);
      return [atMs + aheadMs - 5000, placedDts(timeline, audio, atMs + aheadMs)] as const;
    });
    for (const [expectedMs, dts] of placed.filter(([ms]) => ms >= 0)) {
      assert.ok(Math.abs(Number(dts) - expectedMs * 48) <= 48, `${dts} for ${expectedMs} ms, ${aheadMs} ms ahead`);
    }
  }
});

test('a track that appears late is placed beside the leader', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  for (let time = 0; time <= 10_000; time += 40) placedDts(timeline, video, time);
  assert.equal(placedDts(timeline, audio, 10_020), 10.02 * 48_000);
});

test('a track whose sample rate changes continues at its position', () => {
  const slower = { ...audio, timescale: 44_100, sampleRate: 44_100 };
  const timeline = new Timeline(selected(video), packetAt(video, 5000), 3600);
  placedDts(timeline, video, 5000);
  for (let index = 0; index < 100; index++) placedDts(timeline, slower, 5000 + Math.round((index * 1024) / 44.1));
  placedDts(timeline, video, 7320);
  const resumed = placedDts(timeline, audio, 7322);
  assert.ok(Math.abs(Number(resumed) - 3602.322 * 48_000) <= 48, `continued at ${resumed}`);
  assert.ok(Math.abs(timeline.endSeconds - 3602.343) < 0.01, `ends at ${timeline.endSeconds}`);
  assert.equal(typeof placedDts(timeline, slower, 7344), 'number');
});

test('decoding times rise strictly and presentation never comes before decoding, for any input', () => {
  const step = fc.record({
    isVideo: fc.boolean(),
    advance: fc.integer({ min: -3000, max: 3000 }),
    delay: fc.integer({ min: -200, max: 200 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const timeline = new Timeline(selected(video), packetAt(video, 10_000), 3);
      const last = new Map<Track, number>();
      let now = 10_000;
      for (const { isVideo, advance, delay } of steps) {
        const track = isVideo ? video : audio;
        now = Math.max(0, now + advance);
        const placement = timeline.place(selected(track), packetAt(track, now, delay), now / 1000);
        if (placement.type !== 'placed') continue;
        const { dts, pts } = placement.packet;
        assert.ok(dts > (last.get(track) ?? -1) && pts >= dts && dts >= 3 * track.timescale);
        assert.ok(timeline.endSeconds >= dts / track.timescale);
        last.set(track, dts);
      }
    }),
  );
});

test('media ten seconds ahead of the wall clock goes no further, with the leader reported as ahead and the other track dropped', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  const answers: (number | string)[] = [];
  for (let time = 0; time <= 60_000; time += 500) answers.push(placedDts(timeline, video, time, 0.001));
  assert.equal(answers[21], 'ahead');
  assert.equal(
    answers.findLastIndex((each) => typeof each === 'number'),
    20,
    'ten seconds, with two packets in each',
  );
  const lone = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(lone, video, 0, 0);
  for (let time = 0; time <= 60_000; time += 500) placedDts(lone, audio, time, 0.001);
  assert.ok(lone.endSeconds < 10.1, `came to ${lone.endSeconds} s`);
  assert.equal(placedDts(timeline, video, 10_500, 1), 10.5 * 90_000, 'it continues as soon as the clock allows');
});

test('after 300 frames whose timestamps stand still, or go back and forth within a second, a jump is reported', () => {
  for (const times of [[0], [900, 0]]) {
    const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
    placedDts(timeline, video, 950);
    const answers = Array.from({ length: 400 }, (_, index) => placedDts(timeline, video, times[index % times.length]!));
    assert.equal(answers.indexOf('jumped'), 300);
  }
});

test('a pause of more than a minute is a jump, even if the wall clock agrees with it', () => {
  const timeline = new Timeline(selected(video), packetAt(video, 0), 0);
  placedDts(timeline, video, 0, 7);
  assert.equal(placedDts(timeline, video, 61_000, 68), 'jumped');
});
