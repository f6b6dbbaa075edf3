import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import { DEFAULT_PROFILES, type Profile } from '#domain/profile.ts';
import type { EndReason, SessionState } from '#domain/session.ts';
import { ms, ticks } from '#lib/units.ts';
import { isHeld, type Packet } from '#media/packet.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { ORDINAL_AFTER_GAP, recordingPresentation } from '#test/support/recording-presentation.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import { AUDIO_TRACK, OPUS_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import type { Transcoder, TranscoderCallbacks } from '#transcode/transcoder.ts';
import type { OpenTranscoder } from './ladder.ts';
import { LiveSession } from './live-session.ts';

/** A session with a clock that the test moves, and a presentation that only remembers. */
function setUp({
  state = { phase: 'starting' } as SessionState,
  codecs = '',
  createdAt = 1_000_000,
  openTranscoder = (() => 'limit') as OpenTranscoder,
  profiles = [] as readonly Profile[],
} = {}) {
  let now = 1_000_000;
  const presentation = recordingPresentation();
  const { told } = presentation;
  const ended: EndReason[] = [];
  const phases: string[] = [];
  let callbacks: { onFirstPart: () => void; onMemoryExhausted: () => void } | undefined;
  const record = someSession(someStream(newUserId(), { profiles }), {
    phase: state.phase,
    createdAt: ms(createdAt),
    lastSeen: ms(createdAt),
    codecs,
  });
  const session = new LiveSession(
    {
      record,
      createPresentation: (given) => {
        callbacks = given;
        return presentation;
      },
      openTranscoder,
      targetDurationS: 4,
      reconnectWindowS: 30,
      seenEveryMs: 10_000,
      clock: { now: () => ms(now), monotonic: () => ms(now - 500_000) },
      logger: silentLogger,
      metrics: createMetrics(),
      onState: (changed) => phases.push(changed.state.phase),
      onSeen: () => {},
      onEndedByService: (reason) => ended.push(reason),
    },
    state,
  );
  const advance = (milliseconds: number) => {
    for (let left = milliseconds; left > 0; left -= 50) {
      now += 50;
      mock.timers.tick(50);
    }
  };
  const packets = () => told.flatMap((each) => (each.type === 'packet' ? [each.packet] : []));
  return {
    session,
    told,
    ended,
    phases,
    advance,
    packets,
    firstPart: () => callbacks?.onFirstPart(),
    memoryFull: () => callbacks?.onMemoryExhausted(),
  };
}

const key = (milliseconds: number) => packetAt(VIDEO_TRACK, milliseconds, { keyframe: true });
const frame = (milliseconds: number) => packetAt(VIDEO_TRACK, milliseconds);

test.beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
test.afterEach(() => mock.timers.reset());

test('a session begins at the first keyframe, placed where the wall clock says, and sound before it is left out', () => {
  const { session, packets, advance } = setUp();
  session.publish([VIDEO_TRACK, AUDIO_TRACK], undefined);
  advance(400);
  for (const packet of [packetAt(AUDIO_TRACK, 7000), frame(7010), key(7050), packetAt(AUDIO_TRACK, 7060), frame(7090)])
    session.write(packet);
  assert.deepEqual(
    packets().map(({ kind, dts, mark }) => [kind, dts, mark?.ordinal]),
    [
      ['video', 126_000, 0],
      ['audio', 67_680, 0],
      ['video', 129_600, undefined],
    ],
  );
});

test('a lost connection writes gaps until the publisher is back, then goes on behind a discontinuity', () => {
  const { session, told, phases, packets, advance, firstPart } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  advance(1000);
  session.write(frame(1000));
  session.publisherLost();
  advance(5000);
  const gaps = told.flatMap((each) => (each.type === 'gap' ? [each.untilS] : []));
  assert.deepEqual([gaps[0], gaps.at(-1), gaps.length], [2.25, 7, 20]);

  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  assert.deepEqual(phases, ['live', 'reconnecting', 'live']);
  assert.deepEqual(packets().at(-1)?.mark, { ordinal: ORDINAL_AFTER_GAP, independent: true, discontinuity: true });
  assert.equal(packets().at(-1)?.dts, 7 * 90_000);
  const gapsBefore = told.length;
  advance(5000);
  assert.equal(told.length, gapsBefore);
});

test('media that comes back at once stands behind what was written, although that ran ahead of the clock', () => {
  const { session, packets, firstPart } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  session.write(frame(700)); // a burst: 0.7 s of media while the clock stood still
  session.publisherLost();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  const [, before, after] = packets();
  assert.ok(before !== undefined && after !== undefined && after.dts > before.dts);
});

test('the reconnect window ends the session', () => {
  const { session, told, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  session.publisherLost();
  advance(29_750);
  assert.equal(session.state.phase, 'reconnecting');
  advance(250);
  assert.equal(session.state.phase, 'ended');
  assert.equal(told.at(-1)?.type, 'end');
});

test('a publisher that comes back and is lost before it sent a picture leaves the session waiting, no longer than before', () => {
  const { session, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  session.publisherLost();
  advance(20_000);
  session.publish([VIDEO_TRACK], undefined);
  session.write(frame(100));
  session.publisherLost();
  const phase = () => session.state.phase;
  assert.equal(phase(), 'reconnecting');
  advance(9750);
  assert.equal(phase(), 'reconnecting');
  advance(250);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'reconnect_window_elapsed');
});

test('a publisher that is back when the window closes continues the session, although its keyframe comes later', () => {
  const { session, packets, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  session.publisherLost();
  advance(29_000);
  session.publish([VIDEO_TRACK], undefined);
  session.write(frame(0));
  advance(2000);
  session.write(key(2000));
  assert.equal(session.state.phase, 'live');
  assert.equal(packets().at(-1)?.dts, 32 * 90_000);
});

test('a publisher lost before the first part leaves nothing to wait for', () => {
  const { session } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.publisherLost();
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'no_media');
});

test('timestamps that jump go on at the next keyframe, behind a discontinuity, with gaps meanwhile', () => {
  const { session, told, packets, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  advance(1000);
  session.write(frame(3_600_000));
  advance(500);
  session.write(frame(3_600_500));
  assert.ok(told.some((each) => each.type === 'gap'));
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['timestamps_jumped'],
  );
  session.write(key(3_600_540));
  session.write(frame(3_600_580));
  assert.deepEqual(
    packets().map(({ dts, mark }) => [dts / 90_000, mark?.discontinuity]),
    [
      [1, false],
      [2.5, true],
      [2.54, undefined],
    ],
  );
  assert.equal(session.state.phase, 'live');
});

test('a changed configuration reaches the presentation and makes a discontinuity at the next keyframe', () => {
  const { session, told, packets } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  const bigger = { ...VIDEO_TRACK, config: new Uint8Array([9]), width: 1920, height: 1080 };
  session.setTrack(bigger);
  session.setTrack(bigger);
  session.write(frame(40));
  session.write(key(80));
  assert.equal(told.filter((each) => each.type === 'track').length, 2);
  assert.deepEqual(
    packets().map(({ mark }) => mark?.discontinuity),
    [false, true],
  );
});

test('a configuration that changes far from a keyframe leaves gaps until there is one', () => {
  const { session, told, packets, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK, AUDIO_TRACK], undefined);
  session.write(key(0));
  session.write(packetAt(AUDIO_TRACK, 0));
  firstPart();
  advance(1000);
  session.setTrack({ ...AUDIO_TRACK, config: new Uint8Array([9]) });
  session.write(frame(1000));
  advance(6000);
  const gaps = told.flatMap((each) => (each.type === 'gap' ? [each.untilS] : []));
  assert.deepEqual([gaps[0], gaps.at(-1)], [2.25, 8]);
  session.write(key(7000));
  assert.deepEqual(packets().at(-1)?.mark, { ordinal: ORDINAL_AFTER_GAP, independent: true, discontinuity: true });
  assert.equal(packets().at(-1)?.dts, 8 * 90_000);
  assert.equal(session.state.phase, 'live');
});

test('a track that appears late is added without a discontinuity', () => {
  const { session, told, packets } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  session.setTrack(AUDIO_TRACK);
  session.write(packetAt(AUDIO_TRACK, 30));
  assert.deepEqual(told.at(-2), { type: 'track', renditionId: 'audio', track: AUDIO_TRACK });
  assert.deepEqual(packets().at(-1)?.mark, { ordinal: 0, independent: true, discontinuity: false });
});

test('a session taken up after a restart goes on where the wall clock is, and writes no gaps before its first media', () => {
  const { session, told, packets, advance } = setUp({
    state: { phase: 'reconnecting', until: ms(1_030_000) },
    createdAt: 900_000,
    codecs: 'avc1.64001f',
  });
  assert.equal(session.codecs, 'avc1.64001f');
  advance(2000);
  assert.deepEqual(told, []);
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  assert.deepEqual([packets()[0]?.dts, packets()[0]?.mark?.ordinal], [103 * 90_000, 0]);
  assert.equal(session.state.phase, 'live');
});

test('a session taken up after a restart ends when nobody comes back', () => {
  const { session, advance } = setUp({ state: { phase: 'reconnecting', until: ms(1_010_000) } });
  advance(10_000);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'reconnect_window_elapsed');
});

test('spent media memory ends the session and lets its publisher go', () => {
  const { session, ended, memoryFull } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  memoryFull();
  assert.equal(session.state.phase, 'ended');
  assert.deepEqual(ended, ['media_memory_exhausted']);
});

test('nothing is written to a session that ended', () => {
  const { session, packets } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  session.end('unpublished');
  session.end('terminated');
  session.write(key(2000));
  assert.equal(packets().length, 1);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'unpublished');
});

test('what comes in is measured, and keyframes too far apart are warned of until they no longer are', () => {
  const { session, advance } = setUp();
  const send = (fromMs: number, toMs: number, keyframeEveryMs: number) => {
    for (let at = fromMs; at < toMs; at += 50) {
      session.write(packetAt(VIDEO_TRACK, at, { keyframe: at % keyframeEveryMs === 0 }));
      session.write(packetAt(AUDIO_TRACK, at));
      advance(50);
    }
  };
  const warned = () => session.warnings.map(({ message }) => message);
  session.publish([VIDEO_TRACK, AUDIO_TRACK], undefined, 'Lavf61');
  send(0, 4000, 9600);
  assert.deepEqual(warned(), []);
  send(4000, 4100, 9600);
  assert.deepEqual(warned(), ['no keyframe for 4.0 s; set the encoder to 2 s']);
  send(4100, 20_000, 9600);
  assert.deepEqual(warned(), ['keyframe every 9.6 s; set the encoder to 2 s']);
  const { encoder, source, ladder, warnings } = session.health;
  assert.deepEqual([encoder, warnings.length], ['Lavf61', 1]);
  const rates = { framesPerSecond: 20, bitrateBps: 16_000 };
  assert.deepEqual(source.video, {
    codec: VIDEO_TRACK.codecString,
    width: 1280,
    height: 720,
    rates,
    keyframeIntervalS: 9.6,
  });
  assert.equal(source.audio?.codec, AUDIO_TRACK.codecString);
  assert.deepEqual(ladder, { renditions: [], leftOut: [], transcoder: undefined });

  send(20_000, 60_000, 2000);
  assert.deepEqual(warned(), []);
  assert.equal(session.health.source.video?.keyframeIntervalS, 2);
});

test('another publisher may have set its keyframes right', () => {
  const { session, firstPart, advance } = setUp();
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  firstPart();
  for (let at = 50; at < 5000; at += 50) session.write(frame(at));
  assert.equal(session.warnings.length, 1);
  session.publisherLost();
  advance(1000);
  session.publish([VIDEO_TRACK], undefined);
  assert.deepEqual(session.warnings, []);
});

/** A transcoder that only remembers what it got; its callbacks are the test's. */
function recordingTranscoder() {
  const got: string[] = [];
  const pictures: Packet[] = [];
  let callbacks: TranscoderCallbacks | undefined;
  const transcoder: Transcoder = {
    setTrack: () => ({ renditions: [], leftOut: [] }),
    setAudioTrack: ({ codec }) => void got.push(codec),
    write: (packet) => {
      const { kind, dts, mark } = packet;
      if (kind === 'video') pictures.push(packet);
      else got.push(`${dts}${mark === undefined ? '' : ' marked'}`);
    },
    flush: () => void got.push('flush'),
    stats: {} as Transcoder['stats'],
    [Symbol.asyncDispose]: async () => void got.push('end'),
  };
  const openTranscoder: OpenTranscoder = (request) => {
    callbacks = request.callbacks;
    return transcoder;
  };
  /** AAC comes back, at a time in samples of the session. */
  const comesBack = (samples: number) => {
    const time = ticks(samples);
    callbacks!.onAudioPacket({ ...packetAt(AUDIO_TRACK, 0), dts: time, pts: time });
  };
  return { openTranscoder, got, pictures, comesBack, encoded: () => callbacks!.onAudioTrack(AUDIO_TRACK) };
}

test('sound that is not AAC goes to the transcoder, also without profiles, and is marked when it comes back', () => {
  const { openTranscoder, got, comesBack, encoded } = recordingTranscoder();
  const { session, told, packets } = setUp({ openTranscoder });
  session.publish([VIDEO_TRACK, OPUS_TRACK], undefined);
  assert.deepEqual(
    told.filter(({ type }) => type === 'expect'),
    [{ type: 'expect', renditionIds: ['audio'] }],
  );
  session.write(key(0));
  for (const at of [0, 10, 20]) session.write(packetAt(OPUS_TRACK, at));
  for (const at of [1000, 2000, 3000]) session.write(key(at));
  assert.deepEqual(got, ['opus', '48000', '48480', '48960']);
  encoded();
  for (const samples of [46_976, 48_000, 49_024, 143_900, 144_924, 145_948]) comesBack(samples);
  const sound = packets().filter(({ kind }) => kind === 'audio');
  assert.deepEqual(
    sound.map(({ dts, mark }) => [dts, mark?.ordinal]),
    [
      [48_000, 0],
      [49_024, undefined],
      [143_900, undefined],
      [144_924, 1],
      [145_948, undefined],
    ],
  );
  assert.deepEqual(
    told.flatMap((each) => (each.type === 'track' && each.renditionId === 'audio' ? [each.track.codec] : [])),
    ['aac'],
  );
});

test('renditions show the last picture on while only sound comes, in the segments cut meanwhile', () => {
  const { openTranscoder, pictures } = recordingTranscoder();
  const { session, packets, advance } = setUp({ openTranscoder, profiles: DEFAULT_PROFILES });
  session.publish([VIDEO_TRACK, AUDIO_TRACK], undefined);
  const play = (fromMs: number, untilMs: number, showsPictures: boolean) => {
    for (let at = fromMs; at < untilMs; at += 20) {
      if (showsPictures && at % 40 === 0) session.write(at === 0 ? key(0) : frame(at));
      session.write(packetAt(AUDIO_TRACK, at));
      advance(20);
    }
  };
  play(0, 1000, true);
  assert.equal(pictures.some(isHeld), false);
  play(1000, 8000, false);
  const sinceS = 1 + 0.96;
  const held = pictures.filter(isHeld).map(({ pts }) => pts / 90_000 - sinceS);
  assert.ok(held.every((atS, index) => Math.abs(atS - (index + 1) / 25) < 0.001));
  assert.ok(Math.abs(sinceS + held.at(-1)! - (1 + 7.98 - 0.4)) < 0.05, 'up to what may still come');
  const cuts = (all: readonly Packet[]) => all.flatMap(({ mark }) => mark ?? []).map(({ ordinal }) => ordinal);
  assert.deepEqual(cuts(pictures), [0, 1]);
  play(8000, 8040, true);
  const shown = pictures.map(({ pts }) => pts);
  assert.deepEqual(
    shown,
    shown.toSorted((a, b) => a - b),
  );
  assert.equal(shown.at(-1), 9 * 90_000);
  assert.ok(shown.at(-1)! - shown.at(-2)! <= 5401, 'and until the next one');
  assert.equal(packets().some(isHeld), false, 'viewers of the source get what it sent');
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['keyframe_interval_too_long'],
  );
});

test('without sound, the picture is shown on when nothing has come for more than a second', () => {
  const { openTranscoder, pictures } = recordingTranscoder();
  const { session, told, advance } = setUp({ openTranscoder, profiles: DEFAULT_PROFILES });
  session.publish([VIDEO_TRACK], undefined);
  session.write(key(0));
  advance(1250);
  assert.equal(pictures.some(isHeld), false);
  advance(18_750);
  const held = pictures.filter(isHeld);
  assert.ok(Math.abs(held.at(-1)!.pts / 90_000 - (1 + 20 - 1.4)) < 0.1);
  assert.deepEqual(
    held.flatMap(({ mark }) => mark?.ordinal ?? []),
    [1, 2, 3, 4],
  );
  session.write(frame(20_000));
  assert.equal(pictures.at(-1)?.pts, 21 * 90_000);
  assert.equal(
    told.some(({ type }) => type === 'gap'),
    false,
  );
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['keyframe_interval_too_long'],
  );
});

test('sound leads where there is no picture, also when it comes back from the transcoder', () => {
  const { openTranscoder, got, comesBack, encoded } = recordingTranscoder();
  const { session, packets, firstPart } = setUp({ openTranscoder });
  session.publish([OPUS_TRACK], undefined);
  session.write(packetAt(OPUS_TRACK, 0));
  encoded();
  for (let samples = 48_000; samples < 48_000 * 4; samples += 1024) comesBack(samples);
  const marked = packets().flatMap(({ dts, mark }) => (mark === undefined ? [] : [[dts, mark.ordinal]]));
  assert.deepEqual(marked, [
    [48_000, 0],
    [48_000 + 94 * 1024, 1],
  ]);
  firstPart();
  session.publisherLost();
  assert.equal(got.at(-1), 'flush');
});

test('what still comes back of Opus after the publisher has changed to AAC is left out', () => {
  const { openTranscoder, comesBack, encoded } = recordingTranscoder();
  const { session, packets } = setUp({ openTranscoder });
  session.publish([VIDEO_TRACK, OPUS_TRACK], undefined);
  session.write(key(0));
  encoded();
  comesBack(48_000);
  session.setTrack(AUDIO_TRACK);
  comesBack(49_024);
  assert.equal(packets().filter(({ kind }) => kind === 'audio').length, 1);
});
