import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { newPlaybackId, newUserId } from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { newStreamKey } from '#domain/secret.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import type { Publication, PublishDecision, Refusal } from '#ingest/ingest.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { type RecordingPresentation, recordingPresentation } from '#test/support/recording-presentation.ts';
import { SOME_NODE, someSession, someStream } from '#test/support/sample-records.ts';
import { AUDIO_TRACK, packetAt, VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import type { TranscoderCallbacks, TranscoderStats } from '#transcode/transcoder.ts';
import type { OpenTranscoder } from './ladder.ts';
import { SessionJournal } from './session-journal.ts';
import { SessionRegistry } from './session-registry.ts';

/** A registry with a clock that the test moves, over presentations that only remember. */
function setUp({
  maxPublishers = 10,
  usedBytes = 0,
  isShared = false,
  openTranscoder = (() => 'limit') as OpenTranscoder,
} = {}) {
  let now = 1_000_000;
  const presentations: RecordingPresentation[] = [];
  const written = new Map<string, Session>();
  const store = {
    streams: { setActivity: async () => {} },
    sessions: {
      create: async (session: Session) => void written.set(session.id, session),
      change: async (id: string, change: Partial<Session>) => void written.set(id, { ...written.get(id)!, ...change }),
    },
  } as unknown as Store;
  const journal = new SessionJournal(store, silentLogger);
  const metrics = createMetrics();
  const registry = new SessionRegistry({
    settings: { maxPublishers, reconnectWindowS: 30, targetDurationS: 4, windowS: 36, maxViewers: 100 },
    nodeId: SOME_NODE,
    isShared,
    createPresentation: (options) => {
      const presentation = recordingPresentation(options);
      presentations.push(presentation);
      return presentation;
    },
    openTranscoder,
    memory: { limitBytes: 1000, usedBytes, take: () => true, give: () => {} },
    journal,
    clock: { now: () => ms(now), monotonic: () => ms(now) },
    logger: silentLogger,
    metrics,
  });
  const cuts: Refusal[] = [];
  const publish = (stream: Stream): PublishDecision => {
    const decision = registry.publish(stream, {
      streamKey: stream.streamKey,
      protocol: 'rtmp',
      remoteAddress: '127.0.0.1',
      encoder: 'FMLE/3.0',
      cut: (refusal) => {
        cuts.push(refusal);
        if (decision.accepted) decision.publication.end('cut'); // at once, as RTMP does
      },
    });
    return decision;
  };
  const advance = (milliseconds: number) => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  return { registry, metrics, presentations, journal, written, cuts, publish, advance };
}

const newStream = (): Stream => someStream(newUserId(), { profiles: [] });

/** Publishes video until the first part is there. */
function goLive(
  { publish, presentations }: ReturnType<typeof setUp>,
  stream: Stream,
  { withAudio = false } = {},
): Publication {
  const publication = accepted(publish(stream));
  publication.announce({
    kinds: new Set(withAudio ? ['video', 'audio'] : ['video']),
    videoBitrateBps: undefined,
    audioBitrateBps: undefined,
    encoder: undefined,
  });
  publication.track(VIDEO_TRACK);
  if (withAudio) publication.track(AUDIO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  presentations.at(-1)?.options.onFirstPart?.();
  return publication;
}

function accepted(decision: PublishDecision): Publication {
  assert.ok(decision.accepted);
  return decision.publication;
}

function refusalOf(decision: PublishDecision): string | undefined {
  return decision.accepted ? undefined : decision.refusal.code;
}

test.beforeEach(() => mock.timers.enable({ apis: ['setInterval', 'setTimeout'] }));
test.afterEach(() => mock.timers.reset());

test('a stream is active from its first packet until its publisher stops', () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  assert.equal(world.registry.status(stream.id), undefined);
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.equal(world.registry.status(stream.id)?.isActive, true);
  publication.end('unpublished');
  assert.equal(world.registry.status(stream.id)?.isActive, false);
});

test('a second publisher on a live key is refused, and takes over only after three seconds of silence', () => {
  const world = setUp();
  const stream = newStream();
  const first = goLive(world, stream);
  world.advance(2900);
  first.heard();
  world.advance(2900);
  assert.equal(refusalOf(world.publish(stream)), 'stream_key_in_use');
  world.advance(200);
  const second = accepted(world.publish(stream));
  assert.deepEqual(
    world.cuts.map((cut) => cut.code),
    ['replaced_by_new_publisher'],
  );
  first.packet(packetAt(VIDEO_TRACK, 9000, { keyframe: true }));
  first.end('cut');
  second.track(VIDEO_TRACK);
  second.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance(500);
  assert.equal(world.presentations.length, 1, 'the second publisher continues the session of the first');
  assert.equal(world.registry.status(stream.id)?.phase, 'live');
});

test('the same codecs within the window continue the session, other codecs begin a new one', () => {
  for (const [kinds, sessions] of [
    [[VIDEO_TRACK, AUDIO_TRACK], 1],
    [[VIDEO_TRACK], 2],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream, { withAudio: true }).end('connection_lost');
    assert.equal(world.registry.status(stream.id)?.phase, 'reconnecting');
    const publication = accepted(world.publish(stream));
    for (const track of kinds) publication.track(track);
    publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
    world.advance(500);
    assert.equal(world.presentations.length, sessions);
  }
});

test('profiles or record changed within the window begin a new session, which is made by them', () => {
  const [low] = DEFAULT_PROFILES;
  for (const [change, sessions] of [
    [{ name: 'another' }, 1],
    [{ profiles: [low!] }, 2],
    [{ record: true }, 2],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream).end('connection_lost');
    const publication = accepted(world.publish({ ...stream, ...change }));
    publication.track(VIDEO_TRACK);
    publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
    world.advance(500);
    assert.equal(world.presentations.length, sessions, JSON.stringify(change));
  }
});

test('a track that was announced is waited for, but not longer than half a second', () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.announce({
    kinds: new Set(['video', 'audio']),
    videoBitrateBps: 1_000_000,
    audioBitrateBps: undefined,
    encoder: 'Lavf61',
  });
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance(499);
  assert.equal(world.presentations[0]?.told.length, 0);
  world.advance(1);
  assert.deepEqual(
    world.presentations[0]?.told.map((each) => each.type),
    ['track', 'packet'],
  );
});

test('sound announced alone still waits for a picture, which encoders announce when they have it', () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.announce({
    kinds: new Set(['audio']),
    videoBitrateBps: undefined,
    audioBitrateBps: undefined,
    encoder: undefined,
  });
  publication.track(AUDIO_TRACK);
  publication.packet(packetAt(AUDIO_TRACK, 0));
  assert.equal(world.presentations[0]?.told.length, 0);
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 10, { keyframe: true }));
  assert.deepEqual(
    world.presentations[0]?.told.flatMap((each) => (each.type === 'track' ? [each.renditionId] : [])),
    ['audio', 'source'],
  );
});

test('publishers beyond the limit, or without media memory left, are refused', () => {
  const world = setUp({ maxPublishers: 1 });
  const first = accepted(world.publish(newStream()));
  assert.equal(refusalOf(world.publish(newStream())), 'too_many_publishers');
  first.end('unpublished');
  assert.equal(refusalOf(world.publish(newStream())), undefined);
  assert.equal(refusalOf(setUp({ usedBytes: 950 }).publish(newStream())), 'media_memory_exhausted');
});

test('an ended session can be watched for its window and three target durations more, also by its path beside a new one', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream).end('unpublished');
  const path = world.registry.watch(stream.playbackId)!.mediaPath;
  world.advance(40_000);
  goLive(world, stream);
  assert.notEqual(world.registry.watch(stream.playbackId)?.mediaPath, path);
  assert.equal(world.registry.watchPath(stream.playbackId, path)?.phase, 'ended');
  world.advance(8_000);
  assert.equal(world.registry.watchPath(stream.playbackId, path), undefined);
  assert.equal(world.presentations[0]?.told.at(-1)?.type, 'disposed');
  assert.equal(world.registry.watch(stream.playbackId)?.phase, 'live');
});

test('nothing is kept of a session that is over, although a publisher who sent nothing outlasted it', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream).end('unpublished');
  const idle = accepted(world.publish(stream));
  world.advance(48_000);
  assert.equal(world.registry.status(stream.id), undefined);
  idle.end('connection_lost');
  assert.deepEqual([...world.registry.streams.keys()], []);
});

test('a path is shown only under its own playback id', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  const { mediaPath } = world.registry.watch(stream.playbackId)!;
  assert.equal(world.registry.watchPath(newPlaybackId(), mediaPath), undefined);
});

test('a session without a part has nothing to show once it ended', () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.equal(world.registry.watch(stream.playbackId)?.phase, 'starting');
  publication.end('connection_lost');
  assert.equal(world.registry.watch(stream.playbackId), undefined);
});

test('a session taken up again numbers its media from a base that the restart counter gives', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  const [record] = world.written.values();
  assert.ok(record !== undefined);
  const second = setUp();
  second.registry.restore({ ...record, restarts: 2 }, { phase: 'reconnecting', until: ms(1_030_000) });
  const [presentation] = second.presentations;
  assert.equal(presentation?.options.firstMediaSequence, 2_000_000);
  assert.equal(presentation?.options.continued, true);
  assert.equal(second.registry.watch(stream.playbackId)?.mediaPath, record.mediaPath);
});

test('a session taken up again whose codecs were never written down goes on with those that come', () => {
  const world = setUp();
  const stream = newStream();
  world.registry.restore(someSession(stream, { restarts: 1 }), { phase: 'reconnecting', until: ms(1_030_000) });
  goLive(world, stream);
  assert.equal(world.presentations.length, 1);
  assert.equal(world.registry.status(stream.id)?.phase, 'live');
});

test('what happens to a session reaches the store', async () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream).end('unpublished');
  mock.timers.reset();
  await world.journal[Symbol.asyncDispose]();
  const [session] = world.written.values();
  assert.equal(session?.phase, 'ended');
  assert.equal(session?.endReason, 'unpublished');
  assert.equal(session?.codecs, 'avc1.64001f');
});

test('health is there while media comes in: who sends it, and in the metrics how many are not well', async () => {
  const set = setUp();
  const stream = newStream();
  const publication = goLive(set, stream);
  const health = () => set.registry.status(stream.id)?.health?.();
  const unhealthy = async () =>
    /^millrace_unhealthy_sessions_count (\d)$/m.exec(await set.metrics.registry.metrics())?.[1];
  assert.equal(health()?.encoder, 'FMLE/3.0');
  assert.equal(await unhealthy(), '0');
  publication.packet(packetAt(VIDEO_TRACK, 3_600_000));
  assert.equal(health()?.warnings[0]?.code, 'timestamps_jumped');
  assert.equal(await unhealthy(), '1');
  publication.end('connection_lost');
  assert.equal(set.registry.status(stream.id)?.health, undefined);
  assert.equal(await unhealthy(), '0');

  const back = accepted(set.publish(stream));
  back.announce({
    kinds: new Set(['video']),
    videoBitrateBps: undefined,
    audioBitrateBps: undefined,
    encoder: 'libobs',
  });
  back.track(VIDEO_TRACK);
  back.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.equal(health()?.encoder, 'libobs', 'what made the media tells more than the protocol does');
});

test('a cut ends the session for its reason, tells the publisher, and ends playback where nothing may be watched', () => {
  for (const [reason, code, isWatchable] of [
    ['terminated', 'terminated', true],
    ['key_rotated', 'stream_key_rotated', true],
    ['replaced', 'replaced_by_new_publisher', true],
    ['suspended', 'stream_suspended', false],
    ['deleted', 'stream_deleted', false],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream).end('connection_lost');
    accepted(world.publish(stream)).end('unpublished'); // an earlier session, whose media can still be fetched
    goLive(world, stream);
    const { sessionId } = world.registry.status(stream.id)!;
    world.registry.cut(stream.id, reason);
    assert.deepEqual(
      world.cuts.map((cut) => cut.code),
      [code],
    );
    const [latest] = world.presentations.slice(-1);
    assert.equal(latest!.told.at(-1)?.type, isWatchable ? 'end' : 'disposed');
    assert.equal(world.registry.watch(stream.playbackId) !== undefined, isWatchable, reason);
    assert.equal(world.registry.publishers.has(stream.id), false);
    if (isWatchable) assert.equal(world.registry.sessionStatus(sessionId)?.phase, 'ended');
    else assert.ok(world.presentations.every(({ told }) => told.some(({ type }) => type === 'disposed')));
  }
});

test('a session that waits is ended too, but not for a key that nobody publishes with', () => {
  for (const [reason, phase] of [
    ['terminated', 'ended'],
    ['key_rotated', 'reconnecting'],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream).end('connection_lost');
    world.registry.cut(stream.id, reason);
    assert.equal(world.registry.status(stream.id)?.phase, phase);
  }
});

test('a stream that got another key or name is followed: the old key is cut, the name is written', async () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  world.registry.follow({ ...stream, name: 'another name' });
  assert.equal(world.cuts.length, 0);
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ name }) => name),
    ['another name'],
  );
  world.registry.follow({ ...stream, streamKey: newStreamKey() });
  assert.deepEqual(
    world.cuts.map((cut) => cut.code),
    ['stream_key_rotated'],
  );
});

test('what came in and the most viewers at one time are told, and written with the end', async () => {
  const world = setUp();
  const stream = newStream();
  const publication = goLive(world, stream);
  for (const viewer of ['a', 'b', 'a']) world.registry.watched(stream.playbackId, viewer);
  world.advance(10_000);
  world.registry.watched(stream.playbackId, 'c');
  assert.equal(world.registry.viewers(stream.playbackId), 1);
  const { totals, viewers } = world.registry.status(stream.id)!;
  assert.deepEqual([totals.sourceBytes, totals.sourceSegments, totals.peakViewers, viewers], [100, 1, 2, 1]);
  publication.end('unpublished');
  await world.journal[Symbol.asyncDispose]();
  const [written] = world.written.values();
  assert.deepEqual([written?.totals, written?.viewers], [totals, 0]);
});

test('where others share the store, it alone tells of a stream whose session here is over', () => {
  for (const isShared of [false, true]) {
    const world = setUp({ isShared });
    const stream = newStream();
    goLive(world, stream).end('unpublished');
    assert.equal(world.registry.status(stream.id) === undefined, isShared);
  }
});

test('what a transcoder hands out behind the end is written when the session is let go of', async () => {
  const profiles = [{ name: 'small', width: 160, height: 120, fps: 0, bitrate: 500_000 }];
  let callbacks: TranscoderCallbacks | undefined;
  const openTranscoder: OpenTranscoder = (request) => {
    callbacks = request.callbacks;
    return {
      setTrack: (track) => planRenditions(profiles, track),
      setAudioTrack: () => {},
      write: () => {},
      flush: () => {},
      stats: { shed: [] } as unknown as TranscoderStats,
      [Symbol.asyncDispose]: async () => {},
    };
  };
  const world = setUp({ openTranscoder });
  const stream = { ...newStream(), profiles };
  goLive(world, stream).end('unpublished');
  callbacks!.onTrack('small', VIDEO_TRACK);
  callbacks!.onPacket('small', packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance((36 + 3 * 4) * 1000);
  await new Promise(setImmediate);
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ totals }) => totals.transcodedBytes),
    [100],
  );
});
