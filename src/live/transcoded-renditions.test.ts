import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newStreamId, newUserId } from '#domain/ids.ts';
import type { Profile } from '#domain/profile.ts';
import { ms } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { RenditionId, SessionEvent } from '#media/session-event.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { asEvent, markAt, OPUS_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { NO_PLAN, planRenditions } from '#transcode/rendition-plan.ts';
import type { TranscoderCallbacks, TranscoderStats } from '#transcode/transcoder.ts';
import type { TranscodeRefusal, TranscodeRequest } from '#transcode/transcoder-pool.ts';
import { RenditionSequence } from './rendition-sequence.ts';
import { SessionWarnings } from './session-warnings.ts';
import { TranscodedRenditions } from './transcoded-renditions.ts';

const profile = (name: string, width: number, height: number): Profile => {
  return { name, width, height, fps: 0, bitrate: 500_000 };
};

/** Renditions with a transcoder that the test controls. @param answer the reason why there is no transcoder; undefined when there is one */
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
  /** What was written and offered. */
  const told: { readonly id: RenditionId; readonly event: SessionEvent }[] = [];
  const offers: (readonly RenditionId[])[] = [];
  const audioMissing: string[] = [];
  let disposals = 0;
  const marker = {
    isWaiting: false,
    cuts: Array.from({ length: 9 }, (_, ordinal) => ({ ...markAt(ordinal), atS: ordinal * 2 })),
  };
  const owner = { userId: newUserId(), streamId: newStreamId(), atMost: 3 };
  const renditions = new TranscodedRenditions({
    owner,
    profiles,
    openSequence: (id) =>
      new RenditionSequence({ id, role: 'transcoded', marker, write: (_, event) => void told.push({ id, event }) }),
    onOffered: (ids) => void offers.push(ids),
    onAudioMissing: (why) => void audioMissing.push(why),
    targetDurationS: 4,
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
          const isAccepted = asked.trust.accepts(track);
          given.push(isAccepted ? 'video track' : 'refused video track');
          return isAccepted ? planRenditions(profiles, track) : NO_PLAN;
        },
        setAudioTrack: () => given.push('audio track'),
        write: (event) =>
          given.push(
            event.type === 'held' ? 'held' : `${event.packet.kind}${event.packet.keyframe ? ' keyframe' : ''}`,
          ),
        flush: () => {},
        get stats() {
          return stats;
        },
        [Symbol.asyncDispose]: async () => void disposals++,
      };
    },
  });
  return {
    renditions,
    write: (packet: Packet) => renditions.write(asEvent(packet)),
    told,
    offers,
    audioMissing,
    given,
    owner,
    asked: () => request!,
    answer: (next: TranscodeRefusal | undefined) => {
      refusal = next;
    },
    passes: (milliseconds: number) => {
      now += milliseconds;
    },
    disposals: () => disposals,
    refuseSource: () => {
      for (const exit of ['SIGSEGV', 'SIGSEGV']) request!.trust.workerLost({ reason: 'exited', exit, ranMs: 0 });
      stats = { ...stats, shed: [] };
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
        const packet = packetAt(VIDEO_TRACK, at, { keyframe: at % 2000 === 0 });
        callbacks!.onPacket(id, packet.keyframe ? { ...packet, mark: markAt(at / 2000) } : packet);
      }
    },
  };
}

test('a profile larger than the source is left out, with a warning', () => {
  const { renditions, said, offers } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  assert.deepEqual(offers, [['small', 'smaller']]);
  assert.deepEqual(renditions.health.leftOut, [{ id: 'huge', reason: 'larger_than_source' }]);
  assert.deepEqual(said(), [
    'profile_larger_than_source: profiles left out, because they are larger than the source: huge',
  ]);
  const { codedWidth, codedHeight } = VIDEO_TRACK;
  renditions.setTrack({
    ...VIDEO_TRACK,
    config: Buffer.from('larger'),
    width: 4096,
    height: 2304,
    codedWidth,
    codedHeight,
  });
  assert.deepEqual(renditions.health.leftOut, []);
  assert.deepEqual(said(), []);
});

test('renditions wait for their first frames, run, and are measured', () => {
  const { renditions, tell, packets } = setUp();
  const states = () => renditions.health.renditions;
  renditions.setTrack(VIDEO_TRACK);
  assert.deepEqual(states(), [
    { id: 'small', state: 'waiting', video: undefined },
    { id: 'smaller', state: 'waiting', video: undefined },
  ]);
  tell().onTrack('small', { ...VIDEO_TRACK, width: 160, height: 120 });
  packets('small', 0, 3);
  const [small, smaller] = states();
  assert.equal(small?.state, 'running');
  assert.deepEqual([small?.video?.width, small?.video?.height], [160, 120]);
  assert.equal(small?.video?.rates?.framesPerSecond, 25);
  assert.equal(smaller?.state, 'waiting');
  assert.deepEqual(renditions.health.transcoder, { restarts: 0, lagMs: 12 });
});

test('a profile with the name of the audio, or with a name that no address can hold, has a rendition with an id of its own', () => {
  const { renditions, tell, told, offers, said, shed } = setUp({
    profiles: [profile('audio', 160, 120), profile('Klein & fein', 128, 96)],
  });
  renditions.setTrack(VIDEO_TRACK);
  tell().onTrack('~0', VIDEO_TRACK);
  tell().onPacket('~0', { ...packetAt(VIDEO_TRACK, 0, { keyframe: true }), mark: markAt(0) });
  assert.deepEqual(offers, [['~0', '~1']]);
  assert.deepEqual(
    told.map(({ id, event }) => [id, event.type]),
    [
      ['~0', 'track'],
      ['~0', 'packet'],
    ],
  );
  assert.deepEqual(
    renditions.health.renditions.map(({ id }) => id),
    ['audio', 'Klein & fein'],
  );
  shed('~1');
  tell().onWarning({ code: 'transcode_rendition_shed', renditionId: '~1' });
  assert.deepEqual(said(), [
    'transcode_rendition_shed: the server is too busy to make every rendition; paused for now: Klein & fein',
  ]);
});

test('a rendition that is shed raises an issue until it resumes, and is not offered to new viewers', () => {
  const { renditions, said, tell, shed, offers } = setUp();
  renditions.setTrack({ ...VIDEO_TRACK, width: 4096, height: 2304 });
  shed('huge', 'small');
  tell().onWarning({ code: 'transcode_rendition_shed', renditionId: 'small' });
  assert.deepEqual(offers.at(-1), ['smaller']);
  assert.deepEqual(
    renditions.health.renditions.map(({ state }) => state),
    ['shed', 'waiting', 'shed'],
  );
  assert.deepEqual(said(), [
    'transcode_rendition_shed: the server is too busy to make every rendition; paused for now: huge, small',
  ]);
  shed();
  tell().onWarning({ code: 'transcode_rendition_restored', renditionId: 'huge' });
  assert.deepEqual(said(), ['transcode_rendition_restored: these renditions have resumed: huge']);
  assert.deepEqual(offers.at(-1), ['small', 'smaller', 'huge']);
});

test('packets that a transcoder reports missing become gaps while the source continues, and after a target duration the rendition is not offered to new viewers', () => {
  const { renditions, tell, packets, told, offers, audioMissing } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  for (const id of ['small', 'smaller']) tell().onTrack(id, VIDEO_TRACK);
  for (const id of ['small', 'smaller']) packets(id, 0, 1);
  told.length = 0;
  renditions.fillUntil(5);
  assert.equal(told.length, 0, 'a late rendition is waited for');
  tell().onMissing('small', 'lost');
  tell().onMissing('audio', 'lost');
  renditions.fillUntil(4);
  assert.deepEqual(
    told.map(({ id, event }) => [id, event.type, event.type === 'gap' && event.mark?.ordinal]),
    [
      ['small', 'gap', undefined],
      ['small', 'gap', 1],
      ['small', 'gap', 2],
    ],
  );
  assert.deepEqual([offers.at(-1), audioMissing], [['small', 'smaller'], ['lost']]);
  renditions.fillUntil(5.5);
  assert.deepEqual(offers.at(-1), ['smaller']);
  packets('small', 6, 6.04);
  assert.deepEqual(offers.at(-1), ['small', 'smaller']);
});

test('faults of the transcoder raise warnings, and so does having no transcoder', () => {
  const { renditions, said, tell } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  tell().onRestart({ reason: 'exited', exit: 'SIGKILL', pauseMs: 100 });
  tell().onWarning({ code: 'transcode_source_damaged' });
  assert.deepEqual(
    said().map((text) => text.split(':')[0]),
    ['profile_larger_than_source', 'transcode_restarted', 'transcode_source_damaged'],
  );

  const none = setUp({ answer: 'limit' });
  none.renditions.setTrack(VIDEO_TRACK);
  none.renditions.setTrack({ ...VIDEO_TRACK, config: Buffer.from('other') });
  assert.deepEqual(none.renditions.health, { renditions: [], leftOut: [], transcoder: undefined });
  assert.equal(none.said().length, 1);
  assert.match(none.said()[0]!, /^transcode_limit_reached: /);
});

test('at the limit of transcodes, transcoding begins at the first keyframe after another transcode has ended', () => {
  const { renditions, offers, given, said, answer, write } = setUp({ answer: 'limit' });
  const video = (keyframe: boolean) => write(packetAt(VIDEO_TRACK, 0, { keyframe }));
  renditions.setTrack(VIDEO_TRACK);
  renditions.setAudioTrack(OPUS_TRACK);
  video(true);
  answer(undefined);
  video(false);
  write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual([given, offers], [[], []]);
  video(true);
  video(false);
  write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual(given, ['video track', 'audio track', 'video keyframe', 'video', 'audio keyframe']);
  assert.deepEqual(offers.at(-1), ['small', 'smaller', 'audio']);
  assert.deepEqual(said(), [
    'profile_larger_than_source: profiles left out, because they are larger than the source: huge',
  ]);
});

test('audio alone also begins after another transcode has ended, and a session that has ended does not', async () => {
  const sound = setUp({ answer: 'limit' });
  sound.renditions.setAudioTrack(OPUS_TRACK);
  sound.answer(undefined);
  sound.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual([sound.given, sound.said()], [['audio track', 'audio keyframe'], []]);

  const ended = setUp({ answer: 'limit' });
  ended.renditions.setTrack(VIDEO_TRACK);
  await ended.renditions[Symbol.asyncDispose]();
  ended.answer(undefined);
  ended.write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(ended.given, []);
});

test('a transcoder is requested at every packet until media has lasted long enough, and gets all packets from the first keyframe on', () => {
  const { renditions, offers, given, said, asked, answer, passes, owner, write } = setUp({ answer: 'later' });
  renditions.setTrack(VIDEO_TRACK);
  renditions.setAudioTrack(OPUS_TRACK);
  assert.deepEqual(offers.at(-1), ['small', 'smaller', 'audio'], 'players wait for the renditions');
  assert.deepEqual(
    renditions.health.renditions.map(({ state }) => state),
    ['waiting', 'waiting'],
  );
  write(packetAt(VIDEO_TRACK, 0));
  for (let at = 40; at <= 1000; at += 40) {
    passes(20);
    write(packetAt(VIDEO_TRACK, at, { keyframe: at === 40 }));
    if (at % 200 === 0) write(packetAt(OPUS_TRACK, at));
  }
  const { userId, streamId, atMost, lastedMs } = asked();
  assert.deepEqual({ userId, streamId, atMost }, owner);
  assert.equal(lastedMs, 500, 'the shorter of media time and elapsed time');
  assert.deepEqual(given, []);
  answer(undefined);
  write(packetAt(VIDEO_TRACK, 1040));
  assert.deepEqual(given.slice(0, 4), ['video track', 'audio track', 'video keyframe', 'video']);
  assert.equal(given.filter((each) => each === 'video' || each === 'video keyframe').length, 26);
  assert.equal(given.filter((each) => each === 'audio keyframe').length, 5);
  assert.deepEqual(offers.at(-1), ['small', 'smaller', 'audio']);
  assert.deepEqual(said(), [
    'profile_larger_than_source: profiles left out, because they are larger than the source: huge',
  ]);
});

test('an interruption drops the kept packets, and restarts the measurement of how long media has lasted', () => {
  const { renditions, given, asked, answer, passes, write } = setUp({ answer: 'later' });
  renditions.setTrack(VIDEO_TRACK);
  for (const at of [0, 900]) {
    write(packetAt(VIDEO_TRACK, at, { keyframe: at === 0 }));
    passes(900);
  }
  renditions.flush();
  write(packetAt(VIDEO_TRACK, 5000, { keyframe: true }));
  assert.equal(asked().lastedMs, 0);
  answer(undefined);
  write(packetAt(VIDEO_TRACK, 5040));
  assert.deepEqual(given, ['video track', 'video keyframe', 'video']);
});

test('a session whose user is at the quota gets a warning, and players wait for no rendition', () => {
  const { renditions, offers, said, answer, given, write } = setUp({ answer: 'later' });
  renditions.setTrack(VIDEO_TRACK);
  answer('quota');
  write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(offers.at(-1), []);
  assert.deepEqual(said(), [
    'transcode_quota_reached: only the source plays: this user already has as many transcoded streams as its quota allows; end another stream',
  ]);
  assert.deepEqual(renditions.health.renditions, []);
  answer('limit');
  write(packetAt(VIDEO_TRACK, 2000, { keyframe: true }));
  assert.deepEqual(
    said().map((each) => each.split(':')[0]),
    ['transcode_limit_reached'],
  );
  answer(undefined);
  write(packetAt(VIDEO_TRACK, 4000, { keyframe: true }));
  assert.deepEqual(given, ['video track', 'video keyframe']);
  assert.deepEqual(
    said().map((each) => each.split(':')[0]),
    ['profile_larger_than_source'],
  );
});

test('a rendition whose encoder failed ends and is not offered, the others go on, and a warning names it until the track changes', () => {
  const { renditions, said, tell, told, offers, packets } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  for (const id of ['small', 'smaller']) tell().onTrack(id, VIDEO_TRACK);
  for (const id of ['small', 'smaller']) packets(id, 0, 1);
  told.length = 0;
  tell().onWarning({ code: 'transcode_rendition_failed', renditionId: 'small' });
  packets('smaller', 1, 1.04);
  assert.deepEqual(
    told.map(({ id, event }) => [id, event.type]),
    [
      ['small', 'end'],
      ['smaller', 'packet'],
    ],
  );
  assert.deepEqual(offers.at(-1), ['smaller']);
  assert.deepEqual(
    renditions.health.renditions.map(({ id }) => id),
    ['smaller'],
  );
  assert.deepEqual(renditions.health.leftOut, [
    { id: 'huge', reason: 'larger_than_source' },
    { id: 'small', reason: 'encoder_failed' },
  ]);
  const failures = () => said().filter((each) => each.startsWith('transcode_rendition_failed'));
  assert.match(failures()[0]!, /: small; give them/);
  renditions.setTrack({ ...VIDEO_TRACK, config: Buffer.from('other') });
  assert.deepEqual([failures(), offers.at(-1)], [[], ['small', 'smaller']]);
});

test('a revoked transcoder is ignored, and another one is requested at the next keyframe', () => {
  const { renditions, told, said, asked, answer, given, write } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  const { callbacks, onRevoked } = asked();
  callbacks.onTrack('small', VIDEO_TRACK);
  answer('limit');
  onRevoked();
  assert.deepEqual(
    told.map(({ event }) => event.type),
    ['track', 'end'],
    'its renditions have ended',
  );
  callbacks.onTrack('small', VIDEO_TRACK);
  callbacks.onWarning({ code: 'transcode_frames_dropped' });
  assert.equal(told.length, 2);
  assert.deepEqual(said(), [
    'transcode_limit_reached: only the source plays: the server is already transcoding as many streams as it may; wait until another stream ends',
  ]);
  answer(undefined);
  write(packetAt(VIDEO_TRACK, 40));
  write(packetAt(VIDEO_TRACK, 2000, { keyframe: true }));
  assert.deepEqual(given, ['video track', 'video keyframe', 'video track', 'video keyframe']);
});

test('a session whose video is refused has no renditions, and a warning for as long as it is refused', () => {
  const { renditions, offers, said, refuseSource, tell } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  refuseSource();
  assert.deepEqual(renditions.health.renditions, []);
  assert.deepEqual(offers.at(-1), []);
  assert.deepEqual(said(), [
    'transcode_source_refused: only the source plays: this video has made the transcoder fail twice; use ordinary encoder settings and start again',
  ]);
  tell().onWarning({ code: 'transcode_frames_dropped' });
  renditions.setTrack({ ...VIDEO_TRACK, config: Buffer.from('again') });
  assert.deepEqual(renditions.health.renditions, []);
  assert.ok(said().some((each) => each.startsWith('transcode_source_refused')));
});

test('a session whose video is refused gives its place to others, and asks for another only when the video has another size, once', () => {
  const { renditions, said, refuseSource, given, write, disposals, offers } = setUp();
  const codes = () => said().map((each) => each.split(':')[0]);
  const keyframe = () => write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  renditions.setTrack(VIDEO_TRACK);
  refuseSource();
  assert.deepEqual([disposals(), renditions.isActive, renditions.health.transcoder], [1, false, undefined]);
  given.length = 0;
  keyframe();
  renditions.setTrack({ ...VIDEO_TRACK, config: Buffer.from('again') });
  keyframe();
  assert.deepEqual([given, codes()], [[], ['transcode_source_refused']]);
  const other = { ...VIDEO_TRACK, width: VIDEO_TRACK.width + 2 };
  renditions.setTrack(other);
  keyframe();
  assert.deepEqual(given, ['video track', 'video keyframe']);
  assert.deepEqual([codes(), offers.at(-1)], [['profile_larger_than_source'], ['small', 'smaller']]);
  refuseSource();
  renditions.setTrack(VIDEO_TRACK);
  keyframe();
  assert.deepEqual([given.length, disposals(), codes()], [2, 2, ['transcode_source_refused']]);
});

test('refused video is not transcoded again when the session gets another transcoder for its audio', () => {
  const { renditions, said, refuseSource, given, write, disposals, asked, offers } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  renditions.setAudioTrack(OPUS_TRACK);
  refuseSource();
  assert.deepEqual([disposals(), renditions.isActive], [0, true]);
  given.length = 0;
  asked().onRevoked();
  write(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.deepEqual(given.slice(0, 2), ['refused video track', 'audio track']);
  assert.deepEqual([offers.at(-1), renditions.health.renditions], [['audio'], []]);
  assert.ok(said().some((each) => each.startsWith('transcode_source_refused')));

  const late = setUp();
  late.renditions.setTrack(VIDEO_TRACK);
  late.refuseSource();
  late.answer('later');
  late.renditions.setAudioTrack(OPUS_TRACK);
  assert.deepEqual(late.offers.at(-1), ['audio'], 'players wait for the audio alone');
  late.answer(undefined);
  late.write(packetAt(OPUS_TRACK, 0));
  assert.deepEqual(late.given, ['video track', 'refused video track', 'audio track', 'audio keyframe']);
});

for (const [why, stop] of [
  ['another user needs its place', ({ asked }) => asked().onRevoked()],
  ['its video is refused', ({ refuseSource }) => refuseSource()],
] as const satisfies readonly [string, (world: ReturnType<typeof setUp>) => void][]) {
  test(`a session that is not transcoded any more because ${why} has no thumbnail, and no rendition is called paused`, () => {
    const world = setUp();
    const { renditions, said, tell, shed } = world;
    renditions.setTrack(VIDEO_TRACK);
    tell().onPicture({ kind: 'poster', atS: 0, jpeg: Buffer.from('a frame') });
    shed('small');
    tell().onWarning({ code: 'transcode_rendition_shed', renditionId: 'small' });
    assert.ok(renditions.thumbnail !== undefined);
    stop(world);
    assert.equal(renditions.thumbnail, undefined);
    assert.deepEqual(
      said().filter((each) => each.startsWith('transcode_rendition_shed')),
      [],
    );
  });
}

/** Renditions of a ladder of three, the events of the largest, and what a test does to them. */
function setUpShedding() {
  const world = setUp();
  const { renditions, tell, told } = world;
  const track = (width: number) => ({ ...VIDEO_TRACK, width });
  renditions.setTrack({ ...VIDEO_TRACK, width: 4096, height: 2304 });
  for (const [id, width] of [
    ['smaller', 128],
    ['small', 160],
    ['huge', 4096],
  ] as const) {
    tell().onTrack(id, track(width));
  }
  /** Hands out a frame every 500 ms. */
  const play = (id: RenditionId, fromMs: number, untilMs: number) => {
    for (let at = fromMs; at < untilMs; at += 500) {
      const packet = packetAt(VIDEO_TRACK, at, { keyframe: at % 2000 === 0 });
      tell().onPacket(id, packet.keyframe ? { ...packet, mark: markAt(at / 2000) } : packet);
    }
  };
  /** The contents of the largest rendition's playlist since the last call. */
  const written = () =>
    told.splice(0).flatMap(({ id, event }): readonly (string | number)[] => {
      if (id !== 'huge') return [];
      if (event.type === 'track') return event.track.kind === 'video' ? [`${event.track.width} wide`] : [];
      if (event.type === 'gap') return [`${event.why} until ${event.untilS}`];
      return event.type === 'packet' ? [event.packet.dts / 90_000] : [event.type];
    });
  return { ...world, play, written };
}

test('the next smaller rendition stands in for one that is shed, from its next segment on', () => {
  const { tell, shed, play, written } = setUpShedding();
  for (const id of ['huge', 'small', 'smaller']) play(id, 0, 1000);
  assert.deepEqual(written(), ['4096 wide', 0, 0.5]);
  shed('huge');
  tell().onMissing('huge', 'shed');
  play('small', 1000, 3000);
  assert.deepEqual(written(), ['160 wide', 'shed until 2', 2, 2.5]);
  shed('huge', 'small');
  tell().onMissing('small', 'shed');
  play('smaller', 1000, 5000);
  assert.deepEqual(written(), ['128 wide', 'shed until 4', 4, 4.5]);
});

for (const [which, order] of [
  ['the stand-in', ['small', 'huge']],
  ['the rendition itself', ['huge', 'small']],
] as const) {
  test(`a rendition that is made again replaces its stand-in without a gap, also when ${which} comes first at the segment`, () => {
    const { tell, shed, play, written } = setUpShedding();
    for (const id of ['huge', 'small']) play(id, 0, 500);
    shed('huge');
    tell().onMissing('huge', 'shed');
    play('small', 500, 2500);
    written();
    shed();
    play('small', 2500, 4000);
    assert.deepEqual(written(), [2.5, 3, 3.5], 'the stand-in goes on until a segment begins');
    for (const id of order) play(id, 4000, 4500);
    for (const id of order) play(id, 4500, 5000);
    assert.deepEqual(written(), ['4096 wide', 4, 4.5]);
  });
}

test('when the packets of a stand-in are missing, so are those of the rendition it stands in for', () => {
  const { renditions, tell, shed, play, written } = setUpShedding();
  for (const id of ['huge', 'small']) play(id, 0, 500);
  shed('huge');
  tell().onMissing('huge', 'shed');
  play('small', 500, 2500);
  written();
  tell().onMissing('small', 'lost');
  renditions.fillUntil(3.5);
  assert.deepEqual(written(), ['lost until 3.5']);
});

test('however far the transcoder lags, a rendition that is shed shows its stand-in from its next segment on', () => {
  for (const lagS of [0.4, 1.2, 1.6, 2.4, 5]) {
    const { renditions, tell, shed, told } = setUpShedding();
    const shedAtS = 3;
    for (let at = 0; at < 16_000; at += 40) {
      const madeMs = at - lagS * 1000;
      if (madeMs === shedAtS * 1000) {
        shed('huge');
        tell().onMissing('huge', 'shed');
      }
      const packet = packetAt(VIDEO_TRACK, madeMs, { keyframe: madeMs % 2000 === 0 });
      const made = packet.keyframe ? { ...packet, mark: markAt(madeMs / 2000) } : packet;
      if (madeMs >= 0 && madeMs < shedAtS * 1000) tell().onPacket('huge', made);
      if (madeMs >= 0) tell().onPacket('small', made);
      renditions.fillUntil(at / 1000 - 1);
    }
    const gaps = told.flatMap(({ id, event }) => (id === 'huge' && event.type === 'gap' ? [event] : []));
    const stillS = gaps.reduce((sum, { fromS, untilS }) => sum + untilS - fromS, 0);
    assert.ok(Math.abs(stillS - 1) < 0.05, `with a lag of ${lagS} s a still frame for ${stillS} s`);
    assert.ok(gaps.length > 1, 'the playlist grows in the meantime');
  }
});

test('a rendition that ended is made again when the plan has it again, although its track is the same', () => {
  const { renditions, tell, told, packets } = setUp();
  renditions.setTrack(VIDEO_TRACK);
  for (const id of ['small', 'smaller']) tell().onTrack(id, VIDEO_TRACK);
  packets('small', 0, 1);
  renditions.setTrack({ ...VIDEO_TRACK, config: Buffer.from('tiny'), width: 128, height: 96 });
  assert.equal(told.at(-1)?.event.type, 'end');
  packets('small', 1, 3);
  assert.equal(told.at(-1)?.event.type, 'end', 'it does not begin again with what the worker still held');
  renditions.setTrack(VIDEO_TRACK);
  told.length = 0;
  packets('small', 4, 4.08);
  assert.deepEqual(
    told.map(({ event }) => event.type),
    ['track', 'packet', 'packet'],
  );
});
