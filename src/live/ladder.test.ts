import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '#domain/profile.ts';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { recordingPresentation } from '#test/support/recording-presentation.ts';
import { OPUS_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import type { TranscoderCallbacks, TranscoderStats } from '#transcode/transcoder.ts';
import { Ladder } from './ladder.ts';
import { SessionWarnings } from './session-warnings.ts';

const profile = (name: string, width: number, height: number): Profile => {
  return { name, width, height, fps: 0, bitrate: 500_000 };
};

/** A ladder over a transcoder whose words are the test's; undefined: the server has none left. */
function setUp({
  hasTranscoder = true,
  profiles = [profile('small', 160, 120), profile('smaller', 128, 96), profile('huge', 4096, 2304)],
} = {}) {
  let now = 0;
  let callbacks: TranscoderCallbacks | undefined;
  let hasRoom = hasTranscoder;
  /** What the transcoder was given. */
  const given: string[] = [];
  let stats = { shed: [], restarts: 0, lagMs: 12 } as unknown as TranscoderStats;
  const clock = { now: () => ms(now), monotonic: () => ms(now) };
  const warnings = new SessionWarnings({ clock, metrics: createMetrics() });
  const presentation = recordingPresentation();
  const ladder = new Ladder({
    profiles,
    presentation,
    warnings,
    clock,
    logger: silentLogger,
    onAudioTrack: () => {},
    onAudioPacket: () => {},
    openTranscoder: (request) => {
      callbacks = request.callbacks;
      if (!hasRoom) return undefined;
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
    makeRoom: () => {
      hasRoom = true;
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

  const none = setUp({ hasTranscoder: false });
  none.ladder.setTrack(VIDEO_TRACK);
  none.ladder.setTrack({ ...VIDEO_TRACK, config: Buffer.from('other') });
  assert.deepEqual(none.ladder.health, { renditions: [], leftOut: [], transcoder: undefined });
  assert.equal(none.said().length, 1);
  assert.match(none.said()[0]!, /^transcode_limit_reached: /);
});

test('beyond the limit of transcodes it begins at the first keyframe behind the end of another', () => {
  const { ladder, presentation, given, said, makeRoom } = setUp({ hasTranscoder: false });
  const video = (keyframe: boolean) => ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe }));
  ladder.setTrack(VIDEO_TRACK);
  ladder.setAudioTrack(OPUS_TRACK);
  video(true);
  makeRoom();
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

test('sound alone begins behind the end of another, too; an ended ladder does not', async () => {
  const sound = setUp({ hasTranscoder: false });
  sound.ladder.setAudioTrack(OPUS_TRACK);
  sound.makeRoom();
  sound.ladder.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual([sound.given, sound.said()], [['audio track', 'audio keyframe'], []]);

  const ended = setUp({ hasTranscoder: false });
  ended.ladder.setTrack(VIDEO_TRACK);
  await ended.ladder[Symbol.asyncDispose]();
  ended.makeRoom();
  ended.ladder.write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(ended.given, []);
});
