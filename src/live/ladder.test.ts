import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newStreamId, newUserId } from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { recordingPresentation } from '#test/support/recording-presentation.ts';
import { OPUS_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import type { TranscoderCallbacks, TranscoderStats } from '#transcode/transcoder.ts';
import type { TranscodeRefusal, TranscodeRequest } from '#transcode/transcoder-pool.ts';
import { Ladder } from './ladder.ts';
import { SessionWarnings } from './session-warnings.ts';

const profile = (name: string, width: number, height: number): Profile => {
  return { name, width, height, fps: 0, bitrate: 500_000 };
};

/** A ladder whose transcoder the test controls. @param answer why the ladder gets no transcoder; undefined: it gets one */
function setUp({
  answer = undefined as TranscodeRefusal | undefined,
  profiles = [profile('small', 160, 120), profile('smaller', 128, 96), profile('huge', 4096, 2304)],
} = {}) {
  let now = 0;
  let callbacks: TranscoderCallbacks | undefined;
  let request: TranscodeRequest | undefined;
  let refusal = answer;
  /** What the transcoder was given. */
  const given: string[] = [];
  let stats = { shed: [], restarts: 0, lagMs: 12 } as unknown as TranscoderStats;
  const clock = { now: () => ms(now), monotonic: () => ms(now) };
  const warnings = new SessionWarnings({ clock, metrics: createMetrics() });
  const presentation = recordingPresentation();
  const owner = { userId: newUserId(), streamId: newStreamId(), atMost: 3 };
  const ladder = new Ladder({
    owner,
    profiles,
    presentation,
    warnings,
    clock,
    logger: silentLogger,
    onAudioTrack: () => {},
    onAudioPacket: () => {},
    openTranscoder: (asked) => {
      request = asked;
      if (refusal !== undefined) return refusal;
      callbacks = asked.callbacks;
      return {
        setTrack: (track) => {
          given.push('video track');
          return planRenditions(profiles, track);
        },
        setAudioTrack: () => given.push('audio track'),
        write: ({ kind, keyframe }) => given.push(`${kind}${keyframe ? ' keyframe' : ''}`),
        flush: () => {},
        get stats() {
          return stats;
        },
        [Symbol.asyncDispose]: async () => {},
      };
    },
  });
  return {
    ladder,
    presentation,
    given,
    owner,
    asked: () => request!,
    answer: (next: TranscodeRefusal | undefined) => {
      refusal = next;
    },
    passes: (milliseconds: number) => {
      now += milliseconds;
    },
    refuseSource: () => {
      stats = { ...stats, isSourceRefused: true };
      callbacks!.onWarning({ code: 'transcode_source_refused' });
    },
    said: () => warnings.active.map(({ code, message }) => `${code}: ${message}`),
    tell: () => callbacks!,
    shed: (...ids: string[]) => {
      stats = { ...stats, shed: ids };
    },
    packets: (id: string, fromS: number, toS: number) => {
      for (let at = fromS * 1000; at < toS * 1000; at += 40) {
        now = at;
        callbacks!.onPacket(id, packetAt(VIDEO_TRACK, at, { keyframe: at % 2000 === 0 }));
      }
    },
  };
}

test('a profile larger than the source is left out, and its session says so', () => {
  const { ladder, said, presentation } = setUp();
  ladder.setTrack(VIDEO_TRACK);
  assert.deepEqual(presentation.told, [{ type: 'expect', renditionIds: ['small', 'smaller'] }]);
  assert.deepEqual(ladder.health.leftOut, [{ id: 'huge', reason: 'larger_than_source' }]);
  assert.deepEqual(said(), ['profile_larger_than_source: larger than the source and left out: huge']);
  const { codedWidth, codedHeight } = VIDEO_TRACK;
  ladder.setTrack({
    ...VIDEO_TRACK,
    config: Buffer.from('larger'),
    width: 4096,
    height: 2304,
    codedWidth,
    codedHeight,
  });
  assert.deepEqual(ladder.health.leftOut, []);
  assert.deepEqual(said(), []);
});

test('renditions wait for their first pictures, run, and are measured', () => {
  const { ladder, tell, packets } = setUp();
  const renditions = () => ladder.health.renditions;
  ladder.setTrack(VIDEO_TRACK);
  assert.deepEqual(renditions(), [
    { id: 'small', state: 'waiting', video: undefined },
    { id: 'smaller', state: 'waiting', video: undefined },
  ]);
  tell().onTrack('small', { ...VIDEO_TRACK, width: 160, height: 120 });
  packets('small', 0, 3);
  const [small, smaller] = renditions();
  assert.equal(small?.state, 'running');
  assert.deepEqual([small?.video?.width, small?.video?.height], [160, 120]);
  assert.equal(small?.video?.rates?.framesPerSecond, 25);
  assert.equal(smaller?.state, 'waiting');
  assert.deepEqual(ladder.health.transcoder, { restarts: 0, lagMs: 12 });
});

test('a profile may be called as the sound is, or as no address can be: its rendition gets an id of its own', () => {
  const { ladder, tell, packets, presentation } = setUp({
    profiles: [profile('audio', 160, 120), profile('Klein & fein', 128, 96)],
  });
  ladder.setTrack(VIDEO_TRACK);
  tell().onTrack('audio', VIDEO_TRACK);
  packets('audio', 0, 0.04);
  packets('Klein & fein', 0, 0.04);
  assert.deepEqual(
    presentation.told.flatMap((told) => {
      if (told.type === 'expect') return told.renditionIds;
      return 'renditionId' in told ? [told.renditionId] : [];
    }),
    ['~0', '~1', '~0', '~0', '~1'],
  );
  assert.deepEqual(
    ladder.health.renditions.map(({ id }) => id),
    ['audio', 'Klein & fein'],
  );
});

test('a rendition given up is an issue until it is made again', () => {
  const { ladder, said, tell, shed } = setUp();
  ladder.setTrack({ ...VIDEO_TRACK, width: 4096, height: 2304 });
  shed('huge', 'small');
  tell().onWarning({ code: 'transcode_rendition_shed', renditionId: 'small' });
  assert.deepEqual(
    ladder.health.renditions.map(({ state }) => state),
    ['shed', 'waiting', 'shed'],
  );
  assert.deepEqual(said(), [
    'transcode_rendition_shed: the server is too busy for all renditions; not made for now: huge, small',
  ]);
  shed();
  tell().onWarning({ code: 'transcode_rendition_restored', renditionId: 'huge' });
  assert.deepEqual(said(), ['transcode_rendition_restored: made again: huge']);
});

test('faults of the transcoder are told; without one only the source plays, and that is told too', () => {
  const { ladder, said, tell } = setUp();
  ladder.setTrack(VIDEO_TRACK);
  tell().onRestart({ reason: 'exited', exit: 'SIGKILL', pauseMs: 100 });
  tell().onWarning({ code: 'transcode_source_damaged' });
  assert.deepEqual(
    said().map((text) => text.split(':')[0]),
    ['profile_larger_than_source', 'transcode_restarted', 'transcode_source_damaged'],
  );

  const none = setUp({ answer: 'limit' });
  none.ladder.setTrack(VIDEO_TRACK);
  none.ladder.setTrack({ ...VIDEO_TRACK, config: Buffer.from('other') });
  assert.deepEqual(none.ladder.health, { renditions: [], leftOut: [], transcoder: undefined });
  assert.equal(none.said().length, 1);
  assert.match(none.said()[0]!, /^transcode_limit_reached: /);
});

test('beyond the limit of transcodes it begins at the first keyframe after another transcode has ended', () => {
  const { ladder, presentation, given, said, answer } = setUp({ answer: 'limit' });
  const video = (keyframe: boolean) => ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe }));
  ladder.setTrack(VIDEO_TRACK);
  ladder.setAudioTrack(OPUS_TRACK);
  video(true);
  answer(undefined);
  video(false);
  ladder.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual([given, presentation.told], [[], []]);
  video(true);
  video(false);
  ladder.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual(given, ['video track', 'audio track', 'video keyframe', 'video', 'audio keyframe']);
  assert.deepEqual(presentation.told, [{ type: 'expect', renditionIds: ['small', 'smaller'] }]);
  assert.deepEqual(said(), ['profile_larger_than_source: larger than the source and left out: huge']);
});

test('audio alone begins after another transcode has ended, too, and an ended ladder does not', async () => {
  const sound = setUp({ answer: 'limit' });
  sound.ladder.setAudioTrack(OPUS_TRACK);
  sound.answer(undefined);
  sound.ladder.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual([sound.given, sound.said()], [['audio track', 'audio keyframe'], []]);

  const ended = setUp({ answer: 'limit' });
  ended.ladder.setTrack(VIDEO_TRACK);
  await ended.ladder[Symbol.asyncDispose]();
  ended.answer(undefined);
  ended.ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(ended.given, []);
});

test('a ladder asks for a transcoder at every packet until media has lasted long enough, and hands over all packets from the first keyframe on', () => {
  const { ladder, presentation, given, said, asked, answer, passes, owner } = setUp({ answer: 'later' });
  ladder.setTrack(VIDEO_TRACK);
  ladder.setAudioTrack(OPUS_TRACK);
  const expected = { type: 'expect', renditionIds: ['small', 'smaller'] };
  assert.deepEqual(presentation.told, [expected], 'players wait for the renditions to come');
  assert.deepEqual(
    ladder.health.renditions.map(({ state }) => state),
    ['waiting', 'waiting'],
  );
  ladder.write(packetAt(VIDEO_TRACK, 0));
  for (let at = 40; at <= 1000; at += 40) {
    passes(20);
    ladder.write(packetAt(VIDEO_TRACK, at, { keyframe: at === 40 }));
    if (at % 200 === 0) ladder.write(packetAt(OPUS_TRACK, at));
  }
  const { userId, streamId, atMost, lastedMs } = asked();
  assert.deepEqual({ userId, streamId, atMost }, owner);
  assert.equal(lastedMs, 500, 'the shorter of media time and elapsed time');
  assert.deepEqual(given, []);
  answer(undefined);
  ladder.write(packetAt(VIDEO_TRACK, 1040));
  assert.deepEqual(given.slice(0, 4), ['video track', 'audio track', 'video keyframe', 'video']);
  assert.equal(given.filter((each) => each === 'video' || each === 'video keyframe').length, 26);
  assert.equal(given.filter((each) => each === 'audio keyframe').length, 5);
  assert.deepEqual(presentation.told, [expected]);
  assert.deepEqual(said(), ['profile_larger_than_source: larger than the source and left out: huge']);
});

test('an interruption drops the kept packets, and how long media has lasted is measured anew', () => {
  const { ladder, given, asked, answer, passes } = setUp({ answer: 'later' });
  ladder.setTrack(VIDEO_TRACK);
  for (const at of [0, 900]) {
    ladder.write(packetAt(VIDEO_TRACK, at, { keyframe: at === 0 }));
    passes(900);
  }
  ladder.flush();
  ladder.write(packetAt(VIDEO_TRACK, 5000, { keyframe: true }));
  assert.equal(asked().lastedMs, 0);
  answer(undefined);
  ladder.write(packetAt(VIDEO_TRACK, 5040));
  assert.deepEqual(given, ['video track', 'video keyframe', 'video']);
});

test('a session whose user is at the quota raises a warning, and players wait for no rendition', () => {
  const { ladder, presentation, said, answer, given } = setUp({ answer: 'later' });
  ladder.setTrack(VIDEO_TRACK);
  answer('quota');
  ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(presentation.told.at(-1), { type: 'unexpect', renditionIds: ['small', 'smaller'] });
  assert.deepEqual(said(), [
    'transcode_quota_reached: only the source plays: this account transcodes as many streams as it may',
  ]);
  assert.deepEqual(ladder.health.renditions, []);
  answer('limit');
  ladder.write(packetAt(VIDEO_TRACK, 2000, { keyframe: true }));
  assert.deepEqual(
    said().map((each) => each.split(':')[0]),
    ['transcode_limit_reached'],
  );
  answer(undefined);
  ladder.write(packetAt(VIDEO_TRACK, 4000, { keyframe: true }));
  assert.deepEqual(given, ['video track', 'video keyframe']);
  assert.deepEqual(
    said().map((each) => each.split(':')[0]),
    ['profile_larger_than_source'],
  );
});

test('a ladder ignores a transcoder that was revoked, and asks for one again at the next keyframe', () => {
  const { ladder, presentation, said, asked, answer, given } = setUp();
  ladder.setTrack(VIDEO_TRACK);
  ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  const { callbacks, onRevoked } = asked();
  callbacks.onTrack('small', VIDEO_TRACK);
  answer('limit');
  onRevoked();
  const told = presentation.told.length;
  callbacks.onPacket('small', packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  callbacks.onWarning({ code: 'transcode_frames_dropped' });
  assert.equal(presentation.told.length, told);
  assert.deepEqual(said(), [
    'transcode_limit_reached: only the source plays: this server transcodes as many streams as it may',
  ]);
  answer(undefined);
  ladder.write(packetAt(VIDEO_TRACK, 40));
  ladder.write(packetAt(VIDEO_TRACK, 2000, { keyframe: true }));
  assert.deepEqual(given, ['video track', 'video keyframe', 'video track', 'video keyframe']);
});

test('a session whose video is refused has no renditions, and says so for as long as it is refused', () => {
  const { ladder, presentation, said, refuseSource, tell } = setUp();
  ladder.setTrack(VIDEO_TRACK);
  refuseSource();
  assert.deepEqual(ladder.health.renditions, []);
  assert.deepEqual(presentation.told.at(-1), { type: 'unexpect', renditionIds: ['small', 'smaller'] });
  assert.deepEqual(said(), [
    'transcode_source_refused: only the source plays: decoding this video has ended the transcoder twice',
  ]);
  tell().onWarning({ code: 'transcode_frames_dropped' });
  ladder.setTrack({ ...VIDEO_TRACK, config: Buffer.from('again') });
  assert.deepEqual(ladder.health.renditions, []);
  assert.ok(said().some((each) => each.startsWith('transcode_source_refused')));
});
