import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import { newMediaPath, newUserId } from '#domain/ids.ts';
import { DEFAULT_PROFILES, type Profile } from '#domain/profile.ts';
import type { EndReason, SessionState } from '#domain/session.ts';
import type { PresentationOptions } from '#hls/hls.ts';
import { HOUR_MS, ms, ticks } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { Picture } from '#media/picture.ts';
import type { HeldEvent } from '#media/session-event.ts';
import type { Track } from '#media/track.ts';
import type { Recorder } from '#recording/recording.ts';
import { InternalErrors } from '#telemetry/internal-errors.ts';
import { type Logger, silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { recordingPresentation } from '#test/support/recording-presentation.ts';
import { someSession, someStream } from '#test/support/sample-records.ts';
import {
  AUDIO_ID,
  AUDIO_TRACK,
  markAt,
  OPUS_TRACK,
  packetAt,
  tracksById,
  VIDEO_ID,
  VIDEO_TRACK,
} from '#test/support/tracks.ts';
import type { Transcoder, TranscoderCallbacks } from '#transcode/transcoder.ts';
import { LEAD_IN_MS, LiveSession } from './live-session.ts';
import type { OpenTranscoder } from './transcoded-renditions.ts';

/** A session whose publisher sends its tracks under the ids that RTMP gives them. */
class RtmpSession extends LiveSession {
  begin(tracks: readonly Track[], encoder?: string): void {
    this.publish(tracksById(...tracks), undefined, encoder);
  }

  change(track: Track): void {
    this.setTrack(track.kind === 'video' ? VIDEO_ID : AUDIO_ID, track);
  }

  send(packet: Packet): void {
    this.write(packet.kind === 'video' ? VIDEO_ID : AUDIO_ID, packet);
  }
}

/** A session with a clock that the test controls, and a presentation that only records. */
function setUp({
  state = { phase: 'starting' } as SessionState,
  codecs = '',
  createdAt = 1_000_000,
  lastSeen = 1_000_000,
  restarts = 0,
  openTranscoder = (() => 'limit') as OpenTranscoder,
  profiles = [] as readonly Profile[],
  recorder = undefined as Recorder | undefined,
  onState = () => {},
  onRecording = () => {},
} = {}) {
  let now = 1_000_000;
  /** How far the wall clock was set back, in milliseconds. */
  let setBackMs = 0;
  let seen = 0;
  const lines: { message: string; fields: object }[] = [];
  const log = (fields: object, message: string) => void lines.push({ message, fields });
  const logger: Logger = { ...silentLogger, info: log, warn: log, error: log, child: () => logger };
  const metrics = createMetrics();
  const presentation = recordingPresentation();
  const { told } = presentation;
  const ended: EndReason[] = [];
  const phases: string[] = [];
  let callbacks: Pick<PresentationOptions, 'onFirstPart' | 'onMemoryExhausted'> | undefined;
  const record = someSession(someStream(newUserId(), { profiles }), {
    phase: state.phase,
    createdAt: ms(createdAt),
    lastSeen: ms(lastSeen),
    restarts,
    codecs,
    recordingPath: recorder && newMediaPath(),
  });
  const clock = { now: () => ms(now - setBackMs), monotonic: () => ms(now - 500_000) };
  const session = new RtmpSession(
    {
      record,
      isRecorded: false,
      beginRecording: () => {
        onRecording();
        return recorder ?? assert.fail('nothing is recorded');
      },
      onRecorded: () => {},
      createPresentation: (given) => {
        callbacks = given;
        return presentation;
      },
      openTranscoder,
      targetDurationS: 4,
      reconnectWindowS: 30,
      seenEveryMs: 10_000,
      clock,
      logger,
      metrics,
      errors: new InternalErrors({ logger, metrics }),
      owner: { userId: record.userId, streamId: record.streamId, atMost: 0 },
      onState: (changed) => {
        phases.push(changed.state.phase);
        onState();
      },
      onSeen: () => void seen++,
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
  const setClockBack = (milliseconds: number) => {
    setBackMs += milliseconds;
  };
  /** The time passes, but this process is held up: when it goes on, its timers are due first. */
  const holdUp = (milliseconds: number) => {
    now += milliseconds;
    mock.timers.tick(250);
  };
  const packets = () => told.flatMap((each) => (each.type === 'packet' ? [each.packet] : []));
  return {
    session,
    clock,
    presentation,
    metrics,
    lines,
    told,
    ended,
    phases,
    advance,
    holdUp,
    setClockBack,
    seen: () => seen,
    packets,
    firstPart: () => callbacks?.onFirstPart(),
    memoryFull: () => callbacks?.onMemoryExhausted(),
  };
}

const key = (milliseconds: number) => packetAt(VIDEO_TRACK, milliseconds, { keyframe: true });
const frame = (milliseconds: number) => packetAt(VIDEO_TRACK, milliseconds);

test.beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
test.afterEach(() => mock.timers.reset());

test('a session begins at the first keyframe, placed by the wall clock, and audio before it is left out', () => {
  const { session, packets, advance } = setUp();
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  advance(400);
  for (const packet of [packetAt(AUDIO_TRACK, 7000), frame(7010), key(7050), packetAt(AUDIO_TRACK, 7060), frame(7090)])
    session.send(packet);
  assert.deepEqual(
    packets().map(({ kind, dts, mark }) => [kind, dts, mark?.ordinal]),
    [
      ['video', 126_000, 0],
      ['audio', 67_680, 0],
      ['video', 129_600, undefined],
    ],
  );
});

test('after a lost connection gaps are written until the publisher is back, and the same media continues without a discontinuity', () => {
  const { session, told, phases, packets, advance, firstPart } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  advance(1000);
  session.send(frame(1000));
  session.publisherLost();
  advance(5000);
  const gaps = told.flatMap((each) => (each.type === 'gap' ? [each.untilS] : []));
  assert.deepEqual([gaps[0], gaps.at(-1)], [3.5, 7], 'the last frame may last as long as the previous one');
  const gapMarks = told.flatMap((each) => (each.type === 'gap' && each.mark !== undefined ? [each.mark.ordinal] : []));
  assert.deepEqual(gapMarks, [1], 'a segment begins every 4.35 s');

  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  assert.deepEqual(phases, ['live', 'reconnecting', 'live']);
  assert.deepEqual(packets().at(-1)?.mark, markAt(2));
  assert.equal(packets().at(-1)?.dts, 7 * 90_000);
  const gapsBefore = told.filter(({ type }) => type === 'gap').length;
  advance(5000);
  assert.equal(told.filter(({ type }) => type === 'gap').length, gapsBefore);
});

test('media that comes back with another configuration continues after a discontinuity', () => {
  const { session, packets, firstPart } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.publisherLost();
  session.begin([{ ...VIDEO_TRACK, config: Uint8Array.of(...VIDEO_TRACK.config, 0) }]);
  session.send(key(0));
  assert.deepEqual(packets().at(-1)?.mark, markAt(1, { discontinuity: true }));
});

test('the media of a publisher is compared with the media that was written last, not with a publisher that sent no keyframe', () => {
  const other = { ...VIDEO_TRACK, config: Uint8Array.of(...VIDEO_TRACK.config, 0) };
  /** The mark of what the last of these publishers sends. Those between the first and the last are lost before their first keyframe. */
  const markAfter = (...publishers: readonly (readonly Track[])[]) => {
    const { session, packets, firstPart } = setUp();
    for (const [index, tracks] of publishers.entries()) {
      session.begin(tracks);
      const isSeen = index === 0 || index === publishers.length - 1;
      session.send(isSeen ? key(0) : frame(0));
      if (index === 0) firstPart();
      if (index < publishers.length - 1) session.publisherLost();
    }
    return packets().at(-1)?.mark;
  };
  assert.deepEqual(markAfter([VIDEO_TRACK], [other], [other]), markAt(1, { discontinuity: true }));
  assert.deepEqual(markAfter([VIDEO_TRACK], [other], [VIDEO_TRACK]), markAt(1));
});

test('media that comes back at once is placed after everything written, although that ran ahead of the clock', () => {
  const { session, packets, firstPart } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.send(frame(700)); // a burst: 0.7 s of media while the clock stood still
  session.publisherLost();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  const [, before, after] = packets();
  assert.ok(before !== undefined && after !== undefined && after.dts > before.dts);
});

test('the reconnect window ends the session', () => {
  const { session, told, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.publisherLost();
  advance(29_750);
  assert.equal(session.state.phase, 'reconnecting');
  advance(250);
  assert.equal(session.state.phase, 'ended');
  assert.equal(told.at(-1)?.type, 'end');
});

test('a publisher that comes back and is lost before it sent a frame does not extend the reconnect window', () => {
  const { session, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.publisherLost();
  advance(20_000);
  session.begin([VIDEO_TRACK]);
  session.send(frame(100));
  session.publisherLost();
  const phase = () => session.state.phase;
  assert.equal(phase(), 'reconnecting');
  advance(9750);
  assert.equal(phase(), 'reconnecting');
  advance(250);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'reconnect_window_elapsed');
});

test('a publisher that is back when the reconnect window closes continues the session, although its keyframe comes later', () => {
  const { session, packets, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.publisherLost();
  advance(29_000);
  session.begin([VIDEO_TRACK]);
  session.send(frame(0));
  advance(2000);
  session.send(key(2000));
  assert.equal(session.state.phase, 'live');
  assert.equal(packets().at(-1)?.dts, 32 * 90_000);
});

test('a session whose publisher is lost before the first part ends', () => {
  const { session } = setUp();
  session.begin([VIDEO_TRACK]);
  session.publisherLost();
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'no_media');
});

test('a session that still waits for its renditions is shown, and so is live, before it ends or waits for its publisher', () => {
  const leave = (how: (session: LiveSession) => void) => {
    const { session, presentation, phases, firstPart } = setUp();
    mock.method(presentation, 'showNow', firstPart);
    session.begin([VIDEO_TRACK]);
    session.send(key(0));
    how(session);
    return phases;
  };
  assert.deepEqual(
    leave((session) => session.end('unpublished')),
    ['live', 'ended'],
  );
  assert.deepEqual(
    leave((session) => session.publisherLost()),
    ['live', 'reconnecting'],
  );
});

test('a presentation that fails when it is to be shown does not keep the session from its end', () => {
  const { session, presentation, phases, lines } = setUp();
  mock.method(presentation, 'showNow', () => {
    throw new Error('a fault for this test');
  });
  session.begin([VIDEO_TRACK]);
  session.end('unpublished');
  assert.deepEqual(phases, ['ended']);
  assert.equal(lines.filter(({ message }) => message.startsWith('internal error')).length, 1);
});

test('a recording begins once its session is shown, and one that never is leaves none', () => {
  for (const isShown of [true, false]) {
    let begun = 0;
    const { session, firstPart } = setUp({ recorder: idleRecorder(), onRecording: () => void begun++ });
    session.begin([VIDEO_TRACK]);
    session.send(key(0));
    assert.equal(begun, 0);
    if (isShown) firstPart();
    session.end('unpublished');
    assert.equal(begun, Number(isShown));
  }
});

test('a session that is resumed after a restart continues its recording before its publisher is back', () => {
  let begun = 0;
  const state = { phase: 'reconnecting', until: ms(1_030_000) } as const;
  const { session } = setUp({ state, recorder: idleRecorder(), onRecording: () => void begun++ });
  assert.equal(begun, 1);
  session.end('reconnect_window_elapsed');
});

test('the time of a session does not go back when the wall clock was set back before a restart', () => {
  const first = setUp();
  first.session.begin([VIDEO_TRACK]);
  first.session.send(key(0));
  first.setClockBack(60_000);
  first.advance(100_000);
  first.session.send(key(100_000));
  const { lastSeen } = first.session;
  assert.ok(lastSeen - first.session.record.createdAt >= 100_000);

  const state = { phase: 'reconnecting', until: ms(1_200_000) } as const;
  const createdAt = 960_000;
  const elapsedOf = (seenAt: number, restarts = 1) => {
    const { session, packets } = setUp({ state, createdAt, lastSeen: seenAt, restarts });
    session.begin([VIDEO_TRACK]);
    session.send(key(0));
    return packets()[0]!.dts / 90 - LEAD_IN_MS;
  };
  assert.equal(elapsedOf(990_000), 40_000, 'by the wall clock');
  assert.equal(elapsedOf(1_050_000), 100_000, 'after all media of the earlier process');
});

test('after a jump of timestamps media continues at the next keyframe, after a discontinuity, with gaps in between', () => {
  const { session, told, packets, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  advance(1000);
  session.send(frame(3_600_000));
  advance(500);
  session.send(frame(3_600_500));
  assert.ok(told.some((each) => each.type === 'gap'));
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['timestamps_jumped'],
  );
  session.send(key(3_600_540));
  session.send(frame(3_600_580));
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
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  const bigger = { ...VIDEO_TRACK, config: new Uint8Array([9]), width: 1920, height: 1080 };
  session.change(bigger);
  session.change(bigger);
  session.send(frame(40));
  session.send(key(80));
  assert.equal(told.filter((each) => each.type === 'track').length, 2);
  assert.deepEqual(
    packets().map(({ mark }) => mark?.discontinuity),
    [false, true],
  );
});

test('a configuration that changes far from a keyframe leaves gaps until there is one', () => {
  const { session, told, packets, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  session.send(key(0));
  session.send(packetAt(AUDIO_TRACK, 0));
  firstPart();
  advance(1000);
  session.change({ ...AUDIO_TRACK, config: new Uint8Array([9]) });
  session.send(frame(1000));
  advance(6000);
  const gaps = told.flatMap((each) => (each.type === 'gap' ? [each.untilS] : []));
  assert.deepEqual([gaps[0]! > 2 && gaps[0]! < 2.75, gaps.at(-1)! > 7.5], [true, true]);
  session.send(key(7000));
  assert.deepEqual(packets().at(-1)?.mark, markAt(2, { discontinuity: true }));
  assert.equal(packets().at(-1)?.dts, 8 * 90_000);
  assert.equal(session.state.phase, 'live');
});

test('a track that appears late is added without a discontinuity', () => {
  const { session, told, packets } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  session.change(AUDIO_TRACK);
  session.send(packetAt(AUDIO_TRACK, 30));
  assert.deepEqual(told.at(-2), { type: 'track', renditionId: 'audio', track: AUDIO_TRACK, averageBps: undefined });
  assert.deepEqual(packets().at(-1)?.mark, markAt(0));
});

test('a session resumed after a restart continues at the wall clock, and writes no gaps before its first media', () => {
  const { session, told, packets, advance } = setUp({
    state: { phase: 'reconnecting', until: ms(1_030_000) },
    createdAt: 900_000,
    codecs: 'avc1.64001f',
  });
  assert.equal(session.codecs, 'avc1.64001f');
  advance(2000);
  assert.deepEqual(told, []);
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  assert.deepEqual([packets()[0]?.dts, packets()[0]?.mark?.ordinal], [103 * 90_000, 0]);
  assert.equal(session.state.phase, 'live');
});

test('a session resumed after a restart ends when its publisher does not come back, and answers its viewers', () => {
  const { session, told, advance } = setUp({
    state: { phase: 'reconnecting', until: ms(1_010_000) },
    codecs: 'avc1.64001f',
  });
  advance(10_000);
  assert.deepEqual(told, [{ type: 'disposed' }]);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'reconnect_window_elapsed');
});

test('exhausted media memory ends the session and disconnects its publisher', () => {
  const { session, ended, memoryFull } = setUp();
  session.begin([VIDEO_TRACK]);
  memoryFull();
  assert.equal(session.state.phase, 'ended');
  assert.deepEqual(ended, ['media_memory_exhausted']);
});

test('nothing is written to a session after its end', () => {
  const { session, packets } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  session.end('unpublished');
  session.end('terminated');
  session.send(key(2000));
  assert.equal(packets().length, 1);
  assert.equal(session.state.phase === 'ended' && session.state.reason, 'unpublished');
});

test('received media is measured, and a warning stands while keyframes are too far apart', () => {
  const { session, advance } = setUp();
  const send = (fromMs: number, toMs: number, keyframeEveryMs: number) => {
    for (let at = fromMs; at < toMs; at += 50) {
      session.send(packetAt(VIDEO_TRACK, at, { keyframe: at % keyframeEveryMs === 0 }));
      session.send(packetAt(AUDIO_TRACK, at));
      advance(50);
    }
  };
  const warned = () => session.warnings.map(({ message }) => message);
  session.begin([VIDEO_TRACK, AUDIO_TRACK], 'Lavf61');
  send(0, 4400, 9600);
  assert.deepEqual(warned(), []);
  send(4400, 4500, 9600);
  assert.deepEqual(warned(), ['no keyframe for 4.4 s; set the encoder to 2 s']);
  send(4500, 20_000, 9600);
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

test('a warning and a line in the log say that nothing is shown because there is no keyframe', () => {
  const audio = (at: number) => packetAt(AUDIO_TRACK, at);
  for (const sent of [[frame], [frame, audio], [audio]]) {
    const { session, advance, lines } = setUp();
    session.begin([VIDEO_TRACK, AUDIO_TRACK]);
    const send = (fromMs: number, untilMs: number) => {
      for (let at = fromMs; at < untilMs; at += 50) {
        for (const packet of sent) session.send(packet(at));
        advance(50);
      }
    };
    const warned = () => session.warnings.map(({ message }) => message);
    send(0, 9900);
    assert.deepEqual(warned(), []);
    send(9900, 30_200);
    assert.deepEqual(warned(), ['no keyframe for 30.0 s; set the encoder to 2 s']);
    assert.equal(lines.filter(({ message }) => message.startsWith('nothing is shown')).length, 1);
    session.send(key(30_200));
    advance(30_000);
    assert.deepEqual(warned(), []);
  }
});

test('a warning says that there is no keyframe after an interruption', () => {
  const { session, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  session.send(key(0));
  session.send(packetAt(AUDIO_TRACK, 0));
  firstPart();
  advance(4000);
  for (let at = 50; at < 10_200; at += 50) {
    session.send(frame(at));
    session.send(packetAt(AUDIO_TRACK, at));
    advance(50);
  }
  assert.match(session.warnings.map(({ message }) => message).join(), /^no keyframe for 10\.\d s/);
});

test('the keyframe warning is cleared for another publisher', () => {
  const { session, firstPart, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  for (let at = 50; at < 5000; at += 50) session.send(frame(at));
  assert.equal(session.warnings.length, 1);
  session.publisherLost();
  advance(1000);
  session.begin([VIDEO_TRACK]);
  assert.deepEqual(session.warnings, []);
});

const isHeld = (each: Packet | HeldEvent): each is HeldEvent => 'type' in each;

/** A transcoder that only records what it got, and whose callbacks the test calls. */
function recordingTranscoder() {
  const got: string[] = [];
  /** The video that it got, and packets as packets. */
  const frames: (Packet | HeldEvent)[] = [];
  let callbacks: TranscoderCallbacks | undefined;
  const transcoder: Transcoder = {
    setTrack: () => ({ renditions: [], leftOut: [] }),
    setAudioTrack: ({ codec }) => void got.push(codec),
    write: (event) => {
      if (event.type === 'held') frames.push(event);
      else if (event.packet.kind === 'video') frames.push(event.packet);
      else got.push(`${event.packet.dts}${event.packet.mark === undefined ? '' : ' marked'}`);
    },
    flush: () => void got.push('flush'),
    stats: {} as Transcoder['stats'],
    [Symbol.asyncDispose]: async () => void got.push('end'),
  };
  let isFull = false;
  let onRevoked = () => {};
  const openTranscoder: OpenTranscoder = (request) => {
    if (isFull) return 'limit';
    ({ callbacks, onRevoked } = request);
    return transcoder;
  };
  /** Gives the place of the transcoder to another user. */
  const revoke = () => {
    isFull = true;
    onRevoked();
  };
  const free = () => {
    isFull = false;
  };
  /** The transcoder returns AAC, at a time in samples of the session. */
  const comesBack = (samples: number) => {
    const time = ticks(samples);
    callbacks!.onAudioPacket({ ...packetAt(AUDIO_TRACK, 0), dts: time, pts: time });
  };
  const encoded = () => callbacks!.onAudioTrack(AUDIO_TRACK);
  return { openTranscoder, got, frames, comesBack, encoded, revoke, free };
}

test('audio that is not AAC goes to the transcoder, also without profiles, and is marked when it comes back', () => {
  const { openTranscoder, got, comesBack, encoded } = recordingTranscoder();
  const { session, told, packets } = setUp({ openTranscoder });
  session.begin([VIDEO_TRACK, OPUS_TRACK]);
  assert.deepEqual(
    told.filter(({ type }) => type === 'offer'),
    [{ type: 'offer', renditionIds: ['audio'] }],
  );
  session.send(key(0));
  for (const at of [0, 10, 20]) session.send(packetAt(OPUS_TRACK, at));
  for (const at of [1000, 2000, 3000]) session.send(key(at));
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

test('the last frame is held while only audio comes, also in segments that begin in the meantime', () => {
  const { openTranscoder, frames } = recordingTranscoder();
  const { session, advance } = setUp({ openTranscoder, profiles: DEFAULT_PROFILES });
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  const play = (fromMs: number, untilMs: number, showsFrames: boolean) => {
    for (let at = fromMs; at < untilMs; at += 20) {
      if (showsFrames && at % 40 === 0) session.send(at === 0 ? key(0) : frame(at));
      session.send(packetAt(AUDIO_TRACK, at));
      advance(20);
    }
  };
  play(0, 1000, true);
  assert.equal(frames.some(isHeld), false);
  play(1000, 8000, false);
  const sinceS = 1 + 0.96;
  const held = frames.filter(isHeld).map(({ pts }) => pts / 90_000 - sinceS);
  assert.ok(held.every((atS, index) => Math.abs(atS - (index + 1) / 25) < 0.001));
  assert.ok(
    Math.abs(sinceS + held.at(-1)! - (1 + 7.98 - 0.4)) < 0.05,
    'up to the time for which frames may still come',
  );
  const cuts = (all: readonly (Packet | HeldEvent)[]) =>
    all.flatMap(({ mark }) => mark ?? []).map(({ ordinal }) => ordinal);
  assert.deepEqual(cuts(frames), [0, 1]);
  play(8000, 8040, true);
  assert.deepEqual([session.totals.sourceSegments, session.totals.sourceSegmentsDuration], [3, 8]);
  const shown = frames.map(({ pts }) => pts);
  assert.deepEqual(
    shown,
    shown.toSorted((a, b) => a - b),
  );
  assert.equal(shown.at(-1), 9 * 90_000);
  assert.ok(shown.at(-1)! - shown.at(-2)! <= 5401, 'and until the next frame');
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['keyframe_interval_too_long'],
  );
});

test('without audio, the last frame is held when nothing has come for more than a second', () => {
  const { openTranscoder, frames } = recordingTranscoder();
  const { session, told, advance } = setUp({ openTranscoder, profiles: DEFAULT_PROFILES });
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  advance(1250);
  assert.equal(frames.some(isHeld), false);
  advance(18_750);
  const held = frames.filter(isHeld);
  assert.ok(Math.abs(held.at(-1)!.pts / 90_000 - (1 + 20 - 1.4)) < 0.1);
  assert.deepEqual(
    held.flatMap(({ mark }) => mark?.ordinal ?? []),
    [1, 2, 3, 4],
  );
  session.send(frame(20_000));
  assert.equal(frames.at(-1)?.pts, 21 * 90_000);
  assert.deepEqual([session.totals.sourceSegments, session.totals.sourceSegmentsDuration], [6, 20]);
  assert.equal(
    told.some(({ type }) => type === 'gap'),
    false,
  );
  assert.deepEqual(
    session.warnings.map(({ code }) => code),
    ['keyframe_interval_too_long'],
  );
});

test('audio leads where there is no video, also when it comes back from the transcoder', () => {
  const { openTranscoder, got, comesBack, encoded } = recordingTranscoder();
  const { session, packets, firstPart } = setUp({ openTranscoder });
  session.begin([OPUS_TRACK]);
  const opus = packetAt(OPUS_TRACK, 0);
  session.send(opus);
  encoded();
  for (let samples = 48_000; samples < 48_000 * 4; samples += 1024) comesBack(samples);
  const { sourceBytes, sourceSegments, sourceSegmentsDuration } = session.totals;
  assert.equal(sourceBytes, opus.data.byteLength, 'the bytes received, and not those made from them');
  assert.deepEqual([sourceSegments, Math.round(sourceSegmentsDuration)], [2, 3]);
  const marked = packets().flatMap(({ dts, mark }) => (mark === undefined ? [] : [[dts, mark.ordinal]]));
  assert.deepEqual(marked, [
    [48_000, 0],
    [48_000 + 94 * 1024, 1],
  ]);
  firstPart();
  session.publisherLost();
  assert.equal(got.at(-1), 'flush');
});

for (const [what, tracks] of [
  ['audio made of Opus', [VIDEO_TRACK, OPUS_TRACK]],
  ['audio made of Opus without video', [OPUS_TRACK]],
] as const) {
  test(`${what} is silent while the session has no transcoder, and goes on when it has one again`, () => {
    const { openTranscoder, comesBack, encoded, revoke, free } = recordingTranscoder();
    const { session, told, advance } = setUp({ openTranscoder });
    const hasVideo = tracks.length > 1;
    let samples = 48_000;
    const play = (fromMs: number, untilMs: number, isTranscoded: boolean) => {
      for (let at = fromMs; at < untilMs; at += 50) {
        if (hasVideo) session.send(at % 2000 === 0 ? key(at) : frame(at));
        for (let part = 0; part < 50; part += 10) session.send(packetAt(OPUS_TRACK, at + part));
        if (isTranscoded) for (; samples < (at + 1050) * 48; samples += 1024) comesBack(samples);
        advance(50);
      }
    };
    session.begin(tracks);
    session.send(hasVideo ? key(0) : packetAt(OPUS_TRACK, 0));
    encoded();
    play(0, 3000, true);
    revoke();
    play(3000, 14_000, false);
    const gaps = told.flatMap((each) => (each.type === 'gap' && each.renditionId === 'audio' ? [each] : []));
    const untilS = gaps.at(-1)?.untilS ?? 0;
    assert.ok(untilS > 13, `filled until ${untilS}, while the source has reached 15`);
    for (const [index, { fromS }] of gaps.entries()) if (index > 0) assert.equal(fromS, gaps[index - 1]?.untilS);
    const starts = told.flatMap((each) => {
      if (each.type === 'gap') return each.renditionId === 'audio' && each.mark !== undefined ? [each.fromS] : [];
      const isStart = each.type === 'packet' && each.packet.kind === 'audio' && each.packet.mark !== undefined;
      return isStart ? [each.packet.dts / 48_000] : [];
    });
    const apart = [...starts, untilS].map((atS, index) => atS - (starts[index - 1] ?? atS));
    assert.ok(Math.max(...apart) < 4.49, `segments of ${apart.join(', ')} s`);
    free();
    told.length = 0;
    samples = 15 * 48_000;
    play(14_000, 17_000, true);
    const packets = told.flatMap((each) => (each.type === 'packet' && each.packet.kind === 'audio' ? [each] : []));
    assert.ok(packets.length > 100);
    assert.equal(told.filter((each) => each.type === 'end').length, 0);
  });
}

test('Opus audio that comes back from the transcoder after the publisher has changed to AAC is left out', () => {
  const { openTranscoder, comesBack, encoded } = recordingTranscoder();
  const { session, packets } = setUp({ openTranscoder });
  session.begin([VIDEO_TRACK, OPUS_TRACK]);
  session.send(key(0));
  encoded();
  comesBack(48_000);
  session.change(AUDIO_TRACK);
  comesBack(49_024);
  assert.equal(packets().filter(({ kind }) => kind === 'audio').length, 1);
});

/** Sends a hundred keyframes per second. @param timeOf the timestamp of each in milliseconds */
function storm(world: ReturnType<typeof setUp>, seconds: number, timeOf: (index: number) => number): void {
  const { session, advance } = world;
  session.begin([VIDEO_TRACK]);
  for (let index = 0; index < seconds * 100; index++) {
    session.send(key(timeOf(index)));
    if (index % 5 === 4) advance(50);
  }
}

for (const [what, timeOf] of [
  ['jump by an hour at every packet', (index) => index * HOUR_MS],
  ['go back by a minute at every packet', (index) => 10 * HOUR_MS - index * 60_000],
  ['alternate between two clocks', (index) => (index % 2) * HOUR_MS + index * 10],
  ['jump by two seconds at every packet', (index) => index * 2000],
] as const satisfies readonly (readonly [string, (index: number) => number])[]) {
  test(`timestamps that ${what} cause few starts and log lines a second, and after half a minute the publisher is disconnected`, () => {
    const world = setUp();
    storm(world, 10, timeOf);
    const discontinuities = world.packets().filter(({ mark }) => mark?.discontinuity).length;
    assert.ok(discontinuities <= 15, `${discontinuities} of a thousand packets were given a discontinuity`);
    assert.ok(world.packets().length <= 100, `${world.packets().length} of a thousand packets were placed`);
    const told = world.lines.filter(({ message }) => message === 'timestamps jumped');
    assert.ok(told.length <= 11, `${told.length} lines in ten seconds`);
    assert.deepEqual(world.ended, []);
    storm(world, 40, timeOf);
    assert.deepEqual(world.ended, ['timestamps_unusable']);
    assert.equal(world.session.state.phase, 'ended');
  });
}

test('each log line about jumps has the number of jumps since the previous line', () => {
  const world = setUp();
  world.session.begin([VIDEO_TRACK]);
  for (const time of [0, 1, 2, 3]) world.session.send(key(time * HOUR_MS));
  world.advance(1000);
  world.session.send(key(4 * HOUR_MS));
  const counts = world.lines.flatMap(({ message, fields }) =>
    message === 'timestamps jumped' && 'count' in fields ? [fields.count] : [],
  );
  assert.deepEqual(counts, [1, 3]);
});

test('media that comes a hundred times faster than real time is accepted up to ten seconds ahead of the clock', () => {
  const world = setUp();
  storm(world, 30, (index) => index * 1000);
  const times = world.packets().map(({ dts }) => dts / 90_000);
  assert.ok(Math.max(...times) <= 31 + 10 + 0.1, `came to ${Math.max(...times)} s in 31 s of session time`);
  assert.ok(times.length <= 31 + 10 + 5, `${times.length} seconds of media were taken`);
  assert.ok(times.length > 25, 'as much is accepted as the clock allows');
  assert.deepEqual(world.ended, [], 'the session goes on');
});

test('for any timestamps of both tracks, media stays within ten seconds of the clock and restarts at most once a second', () => {
  const step = fc.record({
    isVideo: fc.boolean(),
    keyframe: fc.boolean(),
    // A small step, or a jump of any size.
    advanceMs: fc.oneof(fc.integer({ min: -40, max: 1100 }), fc.integer({ min: -HOUR_MS, max: HOUR_MS })),
    delayMs: fc.integer({ min: 0, max: 10_000 }),
    restMs: fc.constantFrom(0, 0, 0, 50, 500),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
      const world = setUp();
      world.session.begin([VIDEO_TRACK, AUDIO_TRACK]);
      let timeMs = 10 * HOUR_MS;
      let elapsedMs = 1000;
      for (const { isVideo, keyframe, advanceMs, delayMs, restMs } of steps) {
        timeMs = Math.max(0, timeMs + advanceMs);
        const track = isVideo ? VIDEO_TRACK : AUDIO_TRACK;
        world.session.send(packetAt(track, timeMs, isVideo ? { keyframe, delayMs } : {}));
        world.advance(restMs);
        elapsedMs += restMs;
        const last = world.packets().at(-1);
        const lastMs = last === undefined ? 0 : (last.dts * 1000) / (last.kind === 'video' ? 90_000 : 48_000);
        assert.ok(lastMs <= elapsedMs + 10_100, `${lastMs} ms at ${elapsedMs} ms`);
      }
      const starts = world.packets().filter(({ kind, mark }) => kind === 'video' && mark?.discontinuity).length;
      assert.ok(starts <= 5 + elapsedMs / 1000, `${starts} starts in ${elapsedMs} ms`);
    }),
  );
});

test('timestamps that repeat or hardly advance do not make a segment of thousands of frames', () => {
  const world = setUp();
  storm(world, 10, () => 0);
  assert.ok(
    world.packets().filter(({ mark }) => mark !== undefined).length >= 3,
    'media starts again every 300 frames',
  );
});

test('a publisher that is connected but sends nothing leaves a gap after a minute, and continues after a discontinuity', () => {
  const world = setUp();
  world.session.begin([VIDEO_TRACK]);
  world.session.send(key(0));
  world.advance(59_000);
  assert.equal(world.told.filter(({ type }) => type === 'gap').length, 0);
  world.advance(2000);
  assert.ok(world.told.some(({ type }) => type === 'gap'));
  world.session.send(key(HOUR_MS));
  assert.equal(world.packets().at(-1)?.mark?.discontinuity, true);
});

/** Sends 25 frames a second with audio. @param everyMs how much time passes for every 100 ms of media */
function sendBoth(
  { session, advance }: ReturnType<typeof setUp>,
  fromMs: number,
  untilMs: number,
  everyMs: number,
): void {
  for (let at = fromMs; at < untilMs; at += 20) {
    if (at % 40 === 0) session.send(at % 2000 === 0 ? key(at) : frame(at));
    session.send(packetAt(AUDIO_TRACK, at));
    if (at % 100 === 0) advance(everyMs);
  }
}

test('a network that stalls for more than three seconds leaves a gap, and the delayed media is used from the next keyframe on', () => {
  const world = setUp();
  const { session, told, packets, advance } = world;
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  sendBoth(world, 0, 3000, 100);
  advance(2750);
  assert.deepEqual(
    told.filter(({ type }) => type === 'gap'),
    [],
  );
  advance(1500);
  const gaps = told.flatMap((each) => (each.type === 'gap' ? [each] : []));
  assert.ok(gaps.every(({ why }) => why === 'source_interrupted'));
  assert.ok(
    gaps.some(({ renditionId }) => renditionId === 'source') && gaps.some(({ renditionId }) => renditionId === 'audio'),
  );
  const before = packets().length;
  sendBoth(world, 3000, 11_000, 0);
  const [first] = packets()
    .slice(before)
    .filter(({ kind }) => kind === 'video');
  assert.deepEqual([first?.keyframe, first!.dts / 90_000], [true, 1 + 8]);
});

test('a network that stalls while media lags behind the clock leaves a gap as long as the stall, and no longer', () => {
  const world = setUp();
  const { session, told, packets, advance } = world;
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  sendBoth(world, 0, 24_000, 150); // the encoder's clock is slow, until media lags by 12 s
  advance(4000);
  const before = packets().length;
  sendBoth(world, 24_000, 46_000, 100);
  const gaps = told.flatMap((each) => (each.type === 'gap' && each.renditionId === 'source' ? [each] : []));
  const gapS = gaps.reduce((sum, { fromS, untilS }) => sum + untilS - fromS, 0);
  assert.ok(gapS > 3 && gapS <= 4 + 2, `the gap lasts ${gapS} s, for a stall of 4 s and a keyframe every 2 s`);
  const shown = (kind: string) =>
    packets()
      .slice(before)
      .filter((packet) => packet.kind === kind).length;
  assert.ok(shown('video') > 16 * 25 && shown('audio') > 16 * 45, `${shown('video')} frames of 22 s were shown`);
});

test('received media is reported at the same intervals after the clock was set back', () => {
  const world = setUp();
  world.session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  const reportsWhile = (fromMs: number, untilMs: number) => {
    const before = world.seen();
    sendBoth(world, fromMs, untilMs, 100);
    return world.seen() - before;
  };
  assert.equal(reportsWhile(0, 61_000), 6);
  world.setClockBack(HOUR_MS);
  assert.equal(reportsWhile(61_000, 121_000), 6);
});

test('an output is closed when its session has ended, after the ends of all renditions, and when the server stops', async () => {
  for (const [how, last] of [
    ['end', 'end'],
    ['stop', 'packet'],
  ] as const) {
    const { session } = setUp();
    const got: string[] = [];
    session.attach({
      isRequired: false,
      write: (_, { type }) => void got.push(type),
      close: () => void got.push('closed'),
    });
    session.begin([VIDEO_TRACK, AUDIO_TRACK]);
    session.send(key(0));
    if (how === 'end') session.end('unpublished');
    await session[Symbol.asyncDispose]();
    assert.deepEqual(got.slice(-2), [last, 'closed'], how);
    assert.equal(got.filter((each) => each === 'closed').length, 1);
  }
});

/** Opens transcoders that make nothing, and keeps the callbacks of the last one. */
function idleTranscoders() {
  const opened: { callbacks?: TranscoderCallbacks } = {};
  const openTranscoder: OpenTranscoder = (request) => {
    opened.callbacks = request.callbacks;
    return {
      setTrack: () => ({ renditions: [], leftOut: [] }),
      setAudioTrack: () => {},
      write: () => {},
      flush: () => {},
      stats: { shed: [] } as unknown as ReturnType<typeof Object>,
      [Symbol.asyncDispose]: async () => {},
    } as unknown as Transcoder;
  };
  return { opened, openTranscoder };
}

/** A recorder that writes nothing. */
function idleRecorder(changes: Partial<Recorder> = {}): Recorder {
  const extent = { durationS: 0, sizeBytes: 0, fromMs: undefined, untilMs: undefined, tracks: [] };
  return { extent, write: () => {}, picture: () => {}, end: async () => extent, pause: async () => {}, ...changes };
}

test('a recorder that fails at a picture does not end the session', () => {
  const recorder = idleRecorder({
    picture: () => {
      throw new Error('a fault for this test');
    },
  });
  const { opened, openTranscoder } = idleTranscoders();
  const { session, firstPart, lines, ended } = setUp({ recorder, openTranscoder, profiles: DEFAULT_PROFILES });
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  opened.callbacks!.onPicture({ kind: 'tile', atS: 1, jpeg: Uint8Array.of(0xff, 0xd8) });
  assert.notEqual(session.state.phase, 'ended');
  assert.deepEqual(ended, []);
  assert.equal(lines.filter(({ message }) => message.startsWith('internal error')).length, 1);
});

test('a server that was held up leaves no gap, because the media was only waiting to be read', () => {
  const world = setUp();
  const { session, told, packets, advance, holdUp } = world;
  const gaps = () => told.filter(({ type }) => type === 'gap');
  session.begin([VIDEO_TRACK, AUDIO_TRACK]);
  sendBoth(world, 0, 3000, 100);
  holdUp(5000);
  sendBoth(world, 3000, 8000, 0);
  sendBoth(world, 8000, 9000, 100);
  assert.deepEqual(gaps(), []);
  assert.equal(packets().filter(({ kind }) => kind === 'video').length, 9000 / 40);
  holdUp(5000);
  advance(500);
  assert.ok(gaps().length > 0, 'nothing came');
});

test('a publisher that came back while the server was held up continues its session', () => {
  const { session, firstPart, holdUp, advance } = setUp();
  session.begin([VIDEO_TRACK]);
  session.send(key(0));
  firstPart();
  session.publisherLost();
  holdUp(40_000);
  session.begin([VIDEO_TRACK]);
  session.send(key(2000));
  advance(500);
  assert.equal(session.state.phase, 'live');
});

test('an error thrown anywhere in a session ends only that session, is counted and logged once, and its publisher is disconnected', async () => {
  const broken = () => {
    throw new Error('a fault for this test');
  };
  const { opened, openTranscoder } = idleTranscoders();
  const entries: Record<string, (world: ReturnType<typeof setUp>) => void> = {
    'a packet': ({ session, presentation }) => {
      presentation.write = broken;
      session.send(key(40));
    },
    'a track': ({ session, presentation }) => {
      presentation.write = broken;
      session.change(AUDIO_TRACK);
    },
    'its pacer': ({ session, presentation, firstPart, advance }) => {
      presentation.write = broken;
      firstPart();
      session.publisherLost();
      advance(1000);
    },
    'its pacer, before any output': ({ clock, advance }) => {
      clock.monotonic = broken;
      advance(1000);
    },
    'its transcoder': ({ presentation }) => {
      presentation.write = broken;
      opened.callbacks!.onTrack('small', VIDEO_TRACK);
    },
    'its transcoder, before any output': () => {
      opened.callbacks!.onPicture(new Proxy({} as Picture, { get: broken }));
    },
    'its presentation': ({ memoryFull, presentation }) => {
      presentation.write = broken;
      memoryFull();
    },
  };
  for (const [entry, enter] of Object.entries(entries)) {
    const world = setUp({ openTranscoder, profiles: DEFAULT_PROFILES });
    world.session.begin([VIDEO_TRACK]);
    world.session.send(key(0));
    enter(world);
    await new Promise(setImmediate);
    assert.equal(world.session.state.phase, 'ended', entry);
    assert.equal(world.ended.length, 1, entry);
    if (entry !== 'its presentation') assert.deepEqual(world.ended, ['internal_error'], entry);
    enter(world); // the same error again, in the session that has ended
    assert.equal(world.lines.filter(({ message }) => message.startsWith('internal error')).length, 1, entry);
    assert.match(await world.metrics.registry.metrics(), /millrace_internal_errors_total\{where="\w+"\} [12]\n/, entry);
  }
});

test('a session ends even when its listener for changes of state throws', () => {
  let hasThrown = false;
  const world = setUp({
    onState: () => {
      hasThrown = true;
      throw new Error('a fault for this test');
    },
  });
  world.session.begin([VIDEO_TRACK]);
  world.session.send(key(0));
  world.session.end('unpublished');
  assert.ok(hasThrown);
  assert.equal(world.session.state.phase, 'ended');
  assert.ok(world.told.some(({ type }) => type === 'end'));
});
