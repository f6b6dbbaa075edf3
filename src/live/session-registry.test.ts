import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { newPlaybackId, newUserId, type PlaybackId } from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import type { Quotas } from '#domain/quotas.ts';
import { newStreamKey } from '#domain/secret.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import { fetchableS } from '#hls/hls.ts';
import { createMediaMemory } from '#hls/media-memory.ts';
import type { PublishDecision, PublishRequest, Refusal } from '#ingest/ingest.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { InternalErrors } from '#telemetry/internal-errors.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { type RecordingPresentation, recordingPresentation } from '#test/support/recording-presentation.ts';
import { SOME_NODE, someQuotas, someSession, someStream } from '#test/support/sample-records.ts';
import { AUDIO_TRACK, packetAt, type RtmpPublication, rtmpPublication, VIDEO_TRACK } from '#test/support/tracks.ts';
import { planRenditions } from '#transcode/rendition-plan.ts';
import type { TranscoderCallbacks, TranscoderStats } from '#transcode/transcoder.ts';
import { SessionJournal } from './session-journal.ts';
import { SessionRegistry } from './session-registry.ts';
import type { OpenTranscoder } from './transcoded-renditions.ts';

const LISTS = { targetDurationS: 4, windowS: 36 };
/** How long an ended session can be watched. */
const FETCHABLE_MS = fetchableS(LISTS) * 1000;

/** A registry with a clock that the test controls, and presentations that only record. */
function setUp({
  maxPublishers = 10,
  memoryBytes = 1000,
  quotas = {} as Partial<Quotas>,
  isShared = false,
  openTranscoder = (() => 'limit') as OpenTranscoder,
} = {}) {
  let now = 1_000_000;
  const presentations: RecordingPresentation[] = [];
  const written = new Map<string, Session>();
  const store = {
    streams: { setActivity: async () => true },
    sessions: {
      create: async (session: Session) => Boolean(written.set(session.id, session)),
      change: async (id: string, change: Partial<Session>) =>
        Boolean(written.set(id, { ...written.get(id)!, ...change })),
    },
  } as unknown as Store;
  const clock = { now: () => ms(now), monotonic: () => ms(now) };
  const journal = new SessionJournal({ store, logger: silentLogger, clock });
  const metrics = createMetrics();
  const memory = createMediaMemory(memoryBytes);
  const registry = new SessionRegistry({
    settings: {
      maxPublishers,
      reconnectWindowS: 30,
      ...LISTS,
      maxViewers: 100,
      quotas: someQuotas(),
    },
    nodeId: SOME_NODE,
    isShared,
    createPresentation: (options) => {
      const presentation = recordingPresentation(options);
      presentations.push(presentation);
      return presentation;
    },
    openTranscoder,
    recorders: { begin: () => assert.fail('nothing is recorded') },
    memory,
    journal,
    clock,
    logger: silentLogger,
    metrics,
    errors: new InternalErrors({ logger: silentLogger, metrics }),
  });
  const refusals: Refusal[] = [];
  const publish = (stream: Stream): PublishDecision => {
    const request: PublishRequest = {
      streamKey: stream.streamKey,
      protocol: 'rtmp',
      remoteAddress: '127.0.0.1',
      encoder: 'FMLE/3.0',
      disconnect: (refusal) => {
        refusals.push(refusal);
        if (decision.accepted) decision.publication.end('disconnected'); // at once, as RTMP does
      },
    };
    const decision = registry.publish(stream, request, someQuotas(quotas));
    return decision;
  };
  const advance = (milliseconds: number) => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  return { registry, metrics, memory, presentations, journal, written, refusals, publish, advance };
}

const newStream = (): Stream => someStream(newUserId(), { profiles: [] });

/** Publishes video until the first part exists. */
function goLive(
  { publish, presentations }: ReturnType<typeof setUp>,
  stream: Stream,
  { withAudio = false } = {},
): RtmpPublication {
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

function accepted(decision: PublishDecision): RtmpPublication {
  assert.ok(decision.accepted);
  return rtmpPublication(decision.publication);
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
  assert.equal(world.registry.directory.status(stream.id), undefined);
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.equal(world.registry.directory.status(stream.id)?.isActive, true);
  publication.end('unpublished');
  assert.equal(world.registry.directory.status(stream.id)?.isActive, false);
});

test('a second publisher on a live key is refused, and takes over only after three seconds of silence', () => {
  const world = setUp();
  const stream = newStream();
  const first = goLive(world, stream);
  first.silentFor(2900);
  assert.equal(refusalOf(world.publish(stream)), 'stream_key_in_use');
  first.silentFor(3000);
  const second = accepted(world.publish(stream));
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['replaced_by_new_publisher'],
  );
  first.packet(packetAt(VIDEO_TRACK, 9000, { keyframe: true }));
  first.end('disconnected');
  second.track(VIDEO_TRACK);
  second.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance(500);
  assert.equal(world.presentations.length, 1, 'the second publisher continues the session of the first');
  assert.equal(world.registry.directory.status(stream.id)?.phase, 'live');
});

test('a server that was stopped does not count its publishers as silent', () => {
  const world = setUp();
  const stream = newStream();
  const publication = goLive(world, stream);
  publication.silentFor(100);
  world.advance(4000);
  assert.equal(refusalOf(world.publish(stream)), 'stream_key_in_use');
  assert.deepEqual([...world.registry.publishers.silences], [[stream.id, 100]]);
});

test('the same codecs within the window continue the session, other codecs begin a new one', () => {
  for (const [kinds, sessions] of [
    [[VIDEO_TRACK, AUDIO_TRACK], 1],
    [[VIDEO_TRACK], 2],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream, { withAudio: true }).end('connection_lost');
    assert.equal(world.registry.directory.status(stream.id)?.phase, 'reconnecting');
    const publication = accepted(world.publish(stream));
    for (const track of kinds) publication.track(track);
    publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
    world.advance(500);
    assert.equal(world.presentations.length, sessions);
  }
});

test('profiles or record changed within the window begin a new session with the new settings', () => {
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

test('a track that was announced is waited for, but at most half a second', () => {
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

test('a publisher that announces only audio still waits for video, which encoders announce when they have it', () => {
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
    ['source', 'audio'],
  );
});

test('publishers beyond the limit, or without media memory left, are refused', () => {
  const world = setUp({ maxPublishers: 1 });
  const first = accepted(world.publish(newStream()));
  assert.equal(refusalOf(world.publish(newStream())), 'too_many_publishers');
  first.end('unpublished');
  assert.equal(refusalOf(world.publish(newStream())), undefined);
  const stream = newStream();
  const full = setUp();
  const holder = { giveBackRetired: () => false, giveUp: () => {} };
  full.memory.open({ id: stream.userId, quotaBytes: 1000 }, holder).take(950);
  assert.equal(refusalOf(full.publish(stream)), 'media_memory_exhausted');
  assert.equal(refusalOf(full.publish(newStream())), undefined, 'other users have their own share');
});

test('an ended session can be watched for its longest playlist and three more target durations, also by its path beside a new one', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream).end('unpublished');
  const path = world.registry.directory.watch(stream.playbackId)!.mediaPath;
  world.advance(40_000);
  goLive(world, stream);
  assert.notEqual(world.registry.directory.watch(stream.playbackId)?.mediaPath, path);
  assert.equal(world.registry.directory.watchPath(stream.playbackId, path)?.phase, 'ended');
  world.advance(FETCHABLE_MS - 40_000);
  assert.equal(world.registry.directory.watchPath(stream.playbackId, path), undefined);
  assert.equal(world.presentations[0]?.told.at(-1)?.type, 'disposed');
  assert.equal(world.registry.directory.watch(stream.playbackId)?.phase, 'live');
});

test('nothing is kept of a session that has ended, although a publisher who sent nothing stayed longer', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream).end('unpublished');
  const idle = accepted(world.publish(stream));
  world.advance(FETCHABLE_MS);
  assert.equal(world.registry.directory.status(stream.id), undefined);
  idle.end('connection_lost');
  assert.deepEqual([...world.registry.streams.keys()], []);
});

test('a path is shown only under its own playback id', () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  const { mediaPath } = world.registry.directory.watch(stream.playbackId)!;
  assert.equal(world.registry.directory.watchPath(newPlaybackId(), mediaPath), undefined);
});

test('a session without a part has nothing to show after its end', () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  assert.equal(world.registry.directory.watch(stream.playbackId)?.phase, 'starting');
  publication.end('connection_lost');
  assert.equal(world.registry.directory.watch(stream.playbackId), undefined);
});

test('a resumed session numbers its media from a base that depends on the restart counter', async () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  await world.journal[Symbol.asyncDispose]();
  const [record] = world.written.values();
  assert.ok(record !== undefined);
  const second = setUp();
  second.registry.restore({ ...record, restarts: 2 }, { phase: 'reconnecting', until: ms(1_030_000) });
  const [presentation] = second.presentations;
  assert.equal(presentation?.options.firstMediaSequence, 200_000_000, 'segments of two seconds for six years each');
  assert.equal(presentation?.options.firstDiscontinuitySequence, 2_000_000);
  assert.equal(presentation?.options.continued, true);
  assert.equal(second.registry.directory.watch(stream.playbackId)?.mediaPath, record.mediaPath);
});

test('a resumed session whose codecs were never stored continues with those of its publisher', () => {
  const world = setUp();
  const stream = newStream();
  world.registry.restore(someSession(stream, { restarts: 1 }), { phase: 'reconnecting', until: ms(1_030_000) });
  goLive(world, stream);
  assert.equal(world.presentations.length, 1);
  assert.equal(world.registry.directory.status(stream.id)?.phase, 'live');
});

test('the changes of a session are stored', async () => {
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

test('health exists while media is received and names the encoder, and a metric counts unhealthy sessions', async () => {
  const set = setUp();
  const stream = newStream();
  const publication = goLive(set, stream);
  const health = () => set.registry.directory.status(stream.id)?.health?.();
  const unhealthy = async () =>
    /^millrace_unhealthy_sessions_count (\d)$/m.exec(await set.metrics.registry.metrics())?.[1];
  assert.equal(health()?.encoder, 'FMLE/3.0');
  assert.equal(await unhealthy(), '0');
  publication.packet(packetAt(VIDEO_TRACK, 3_600_000));
  assert.equal(health()?.warnings[0]?.code, 'timestamps_jumped');
  assert.equal(await unhealthy(), '1');
  publication.end('connection_lost');
  assert.equal(set.registry.directory.status(stream.id)?.health, undefined);
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
  assert.equal(
    health()?.encoder,
    'libobs',
    'the encoder named in the media takes precedence over that of the protocol',
  );
});

test('disconnecting a publisher ends the session for that reason, tells the publisher, and ends playback where required', () => {
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
    const { sessionId } = world.registry.directory.status(stream.id)!;
    world.registry.disconnect(stream.id, reason);
    assert.deepEqual(
      world.refusals.map(({ code }) => code),
      [code],
    );
    const [latest] = world.presentations.slice(-1);
    assert.equal(latest!.told.at(-1)?.type, isWatchable ? 'end' : 'disposed');
    assert.equal(world.registry.directory.watch(stream.playbackId) !== undefined, isWatchable, reason);
    assert.equal(world.registry.publishers.has(stream.id), false);
    if (isWatchable) assert.equal(world.registry.directory.sessionStatus(sessionId)?.phase, 'ended');
    else assert.ok(world.presentations.every(({ told }) => told.some(({ type }) => type === 'disposed')));
  }
});

test('a session that waits for its publisher is ended, too, but not because of a replaced key', () => {
  for (const [reason, phase] of [
    ['terminated', 'ended'],
    ['key_rotated', 'reconnecting'],
  ] as const) {
    const world = setUp();
    const stream = newStream();
    goLive(world, stream).end('connection_lost');
    world.registry.disconnect(stream.id, reason);
    assert.equal(world.registry.directory.status(stream.id)?.phase, phase);
  }
});

test("after a change of a stream's key or name, the publisher with the old key is disconnected, and the name is stored", async () => {
  const world = setUp();
  const stream = newStream();
  goLive(world, stream);
  world.registry.follow({ ...stream, name: 'another name' });
  assert.equal(world.refusals.length, 0);
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ name }) => name),
    ['another name'],
  );
  world.registry.follow({ ...stream, streamKey: newStreamKey() });
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['stream_key_rotated'],
  );
});

test('the received media and the peak of viewers are reported, and stored at the end', async () => {
  const world = setUp();
  const stream = newStream();
  const publication = goLive(world, stream);
  for (const viewer of ['a', 'b', 'a'])
    world.registry.directory.watched(stream.playbackId, { name: viewer, address: '10.0.0.1' });
  world.advance(10_000);
  world.registry.directory.watched(stream.playbackId, { name: 'c', address: '10.0.0.1' });
  assert.equal(world.registry.directory.viewers(stream.playbackId), 1);
  const { totals, viewers } = world.registry.directory.status(stream.id)!;
  assert.deepEqual([totals.sourceBytes, totals.sourceSegments, totals.peakViewers, viewers], [100, 2, 2, 1]);
  publication.end('unpublished');
  await world.journal[Symbol.asyncDispose]();
  const [written] = world.written.values();
  assert.deepEqual([written?.totals, written?.viewers], [totals, 0]);
});

test('where processes share the store, only the store is asked about a stream whose session on this node has ended', () => {
  for (const isShared of [false, true]) {
    const world = setUp({ isShared });
    const stream = newStream();
    goLive(world, stream).end('unpublished');
    assert.equal(world.registry.directory.status(stream.id) === undefined, isShared);
  }
});

/** Transcoders that make nothing. */
const idleTranscoder: OpenTranscoder = ({ profiles }) => ({
  setTrack: (track) => planRenditions(profiles, track),
  setAudioTrack: () => {},
  write: () => {},
  flush: () => {},
  stats: { shed: [] } as unknown as TranscoderStats,
  [Symbol.asyncDispose]: async () => {},
});

test('the usage of a user is counted separately, and only while it lasts', async () => {
  const world = setUp({ openTranscoder: idleTranscoder });
  const profiles = [{ name: 'small', width: 160, height: 120, fps: 0, bitrate: 500_000 }];
  const stream = someStream(newUserId(), { profiles });
  const { userId, playbackId } = stream;
  const neighbour = newStream();
  goLive(world, neighbour);
  const publication = goLive(world, stream);
  const viewer = { name: 'a viewer', address: '10.0.0.1' };
  for (const id of [playbackId, neighbour.playbackId]) world.registry.directory.watched(id, viewer);
  const memoryUser = { id: userId, quotaBytes: 1000 };
  const account = world.memory.open(memoryUser, { giveBackRetired: () => false, giveUp: () => {} });
  account.take(300);
  const nothing = { publishers: 0, transcodes: 0, mediaMemoryBytes: 0, viewers: 0 };
  const all = { publishers: 1, transcodes: 1, mediaMemoryBytes: 300, viewers: 1 };
  assert.deepEqual(world.registry.directory.usageOf(userId), all);
  assert.deepEqual(world.registry.directory.usageOf(neighbour.userId), { ...nothing, publishers: 1, viewers: 1 });
  assert.deepEqual(world.registry.directory.usageOf(newUserId()), nothing);
  publication.end('unpublished');
  account[Symbol.dispose]();
  await new Promise(setImmediate);
  assert.deepEqual(world.registry.directory.usageOf(userId), { ...nothing, viewers: 1 });
  world.advance(10_000);
  assert.deepEqual(world.registry.directory.usageOf(userId), nothing);
});

test('packets that a transcoder hands out after the end are counted when the session is discarded', async () => {
  const profiles = [{ name: 'small', width: 160, height: 120, fps: 0, bitrate: 500_000 }];
  let callbacks: TranscoderCallbacks | undefined;
  const openTranscoder: OpenTranscoder = (request) => {
    callbacks = request.callbacks;
    return idleTranscoder(request);
  };
  const world = setUp({ openTranscoder });
  const stream = { ...newStream(), profiles };
  goLive(world, stream).end('unpublished');
  callbacks!.onTrack('small', VIDEO_TRACK);
  callbacks!.onPacket('small', packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance(FETCHABLE_MS);
  await new Promise(setImmediate);
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ totals }) => totals.transcodedBytes),
    [100],
  );
});

/** Sends frames of 100 bytes, 40 ms apart. */
function send(publication: RtmpPublication, count: number, fromMs = 40): void {
  for (let index = 0; index < count; index++) publication.packet(packetAt(VIDEO_TRACK, fromMs + index * 40));
}

test('a publisher above the bitrate of its user is disconnected with the reason, and its session ends', () => {
  const world = setUp({ quotas: { ingestBitrateKbps: 1 } }); // 1250 bytes in ten seconds
  const stream = newStream();
  const publication = goLive(world, stream);
  send(publication, 11);
  assert.deepEqual(world.refusals, []);
  send(publication, 2, 480);
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['ingest_bitrate_exceeded'],
  );
  assert.equal(world.registry.directory.status(stream.id)?.phase, 'ended');
  assert.equal(world.registry.publishers.has(stream.id), false);
});

test('changed quotas apply to publishers that are already connected', () => {
  const world = setUp();
  const stream = newStream();
  const publication = goLive(world, stream);
  world.registry.setQuotas(stream.userId, someQuotas({ ingestBitrateKbps: 1, viewers: 5 }));
  assert.equal(world.registry.quotasOfUser(stream.userId).viewers, 5);
  send(publication, 13);
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['ingest_bitrate_exceeded'],
  );
  world.advance(FETCHABLE_MS);
  assert.equal(
    world.registry.quotasOfUser(stream.userId).viewers,
    0,
    'quotas of a user without publishers and sessions are forgotten',
  );
});

test('a user may have as many publishers as its quota, and one that leaves makes room', () => {
  const world = setUp({ quotas: { publishers: 2 } });
  const userId = newUserId();
  const streams = [1, 2, 3].map(() => someStream(userId, { profiles: [] }));
  const [first] = streams.slice(0, 2).map((stream) => accepted(world.publish(stream)));
  const refused = world.publish(streams[2]!);
  assert.equal(refusalOf(refused), 'quota_exceeded');
  assert.match(refused.accepted ? '' : refused.refusal.reason, /has 2 publishers, and may have 2/);
  assert.equal(refusalOf(world.publish(newStream())), undefined, 'other users have their own quota');
  first!.end('unpublished');
  assert.equal(refusalOf(world.publish(streams[2]!)), undefined);
});

test('the last tenth of the places is reserved for users with few publishers', () => {
  const world = setUp({ maxPublishers: 20, quotas: { publishers: 50 } });
  const userId = newUserId();
  const publishAll = () =>
    Array.from({ length: 20 }, () => refusalOf(world.publish(someStream(userId, { profiles: [] }))));
  assert.equal(publishAll().filter((code) => code === undefined).length, 18);
  assert.equal(refusalOf(world.publish(newStream())), undefined);
  assert.equal(refusalOf(world.publish(newStream())), undefined);
  assert.equal(refusalOf(world.publish(newStream())), 'too_many_publishers');
  const unlimited = setUp({ maxPublishers: 20 });
  const answers = Array.from({ length: 21 }, () => refusalOf(unlimited.publish(someStream(userId, { profiles: [] }))));
  assert.equal(answers.filter((code) => code === undefined).length, 20, 'a user without a limit may take them all');
});

test('media that is held until the tracks are known is charged to its user, and released when the session takes it', () => {
  const world = setUp();
  const publication = accepted(world.publish(newStream()));
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  send(publication, 4);
  assert.equal(world.memory.usedBytes, 500);
  world.advance(500);
  assert.equal(world.memory.usedBytes, 0);
  assert.equal(world.presentations[0]?.told.filter(({ type }) => type === 'packet').length, 5);
});

test('a publisher that holds more than the share of its user is disconnected when another user needs memory', () => {
  const world = setUp();
  const streams = [newStream(), newStream()];
  const [fat, small] = streams.map((stream) => {
    const publication = accepted(world.publish(stream));
    publication.track(VIDEO_TRACK);
    return publication;
  });
  send(fat!, 9);
  assert.equal(world.memory.usedBytes, 900);
  send(small!, 5);
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['media_memory_exhausted'],
  );
  assert.equal(world.registry.publishers.has(streams[1]!.id), true);
});

test('an error in one session ends it and disconnects its publisher, and other sessions continue', async () => {
  const world = setUp();
  const [broken, other] = [newStream(), newStream()];
  const publication = goLive(world, broken);
  const otherPublication = goLive(world, other);
  world.presentations[0]!.write = () => {
    throw new Error('a fault for this test');
  };
  send(publication, 1);
  send(otherPublication, 1);
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['internal_error'],
  );
  assert.deepEqual(
    [broken, other].map(({ id }) => world.registry.directory.status(id)?.phase),
    ['ended', 'live'],
  );
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ endReason }) => endReason),
    ['internal_error', undefined],
  );
  send(publication, 1); // a packet that comes after the end changes nothing
  assert.equal(world.refusals.length, 1);
});

test('an error before a publisher has a session disconnects that publisher', async () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.track(VIDEO_TRACK);
  publication.packet({
    ...packetAt(VIDEO_TRACK, 0),
    get data(): Uint8Array {
      throw new Error('a fault for this test');
    },
  });
  assert.deepEqual(
    world.refusals.map(({ code }) => code),
    ['internal_error'],
  );
  assert.equal(world.registry.publishers.has(stream.id), false);
  assert.match(await world.metrics.registry.metrics(), /millrace_internal_errors_total\{where="ingest"\} 1/);
});

test('a session that ends before its first part leaves nothing in the store, however often that happens', async () => {
  const world = setUp();
  const stream = newStream();
  for (let time = 0; time < 100; time++) {
    const publication = accepted(world.publish(stream));
    publication.track(VIDEO_TRACK);
    publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
    assert.equal(world.registry.directory.status(stream.id)?.phase, 'starting');
    publication.end('unpublished');
  }
  world.registry.follow({ ...stream, name: 'renamed' });
  world.advance(FETCHABLE_MS);
  await world.journal[Symbol.asyncDispose]();
  assert.equal(world.written.size, 0);
});

test('a session is stored with all its fields when its first part exists', async () => {
  const world = setUp();
  const stream = newStream();
  const publication = accepted(world.publish(stream));
  publication.track(VIDEO_TRACK);
  publication.packet(packetAt(VIDEO_TRACK, 0, { keyframe: true }));
  world.advance(500);
  world.registry.follow({ ...stream, name: 'renamed' });
  world.presentations[0]?.options.onFirstPart?.();
  await world.journal[Symbol.asyncDispose]();
  assert.deepEqual(
    [...world.written.values()].map(({ phase, name, codecs }) => [phase, name, codecs]),
    [['live', 'renamed', 'avc1.64001f']],
  );
});

test('the views of viewers who stay while the stream moves from node to node are counted once', () => {
  const [first, second] = [setUp({ isShared: true }), setUp({ isShared: true })];
  const stream = newStream();
  const { playbackId } = stream;
  const quota = { ofUser: stream.userId, atMost: 0 };
  const viewer = (name: string) => ({ name, address: '10.0.0.1' });
  const viewsOf = ({ registry }: typeof first) =>
    registry.usage.take().reduce((sum, { counts }) => sum + counts.views, 0);
  /** Viewers ask the node of the stream, and another one, which reports them. */
  const watch = (owner: typeof first, asOwner: string, other: typeof first, asOther: string) => {
    for (const name of asOwner) owner.registry.directory.watched(playbackId, viewer(name));
    for (const name of asOther) other.registry.directory.watched(playbackId, viewer(name), quota);
    const reports = other.registry.directory.takeUnreported(playbackId, 100);
    owner.registry.directory.watchedElsewhere(playbackId, reports);
    other.registry.directory.reported(playbackId, reports);
    for (const world of [first, second]) world.advance(5000);
  };
  const publication = goLive(first, stream);
  watch(first, 'ac', second, 'bc');
  publication.end('unpublished');
  goLive(second, stream);
  watch(second, 'bc', first, 'acd');
  watch(second, 'bcd', first, 'ac');
  assert.deepEqual([viewsOf(first), viewsOf(second)], [3, 1], 'd came later');
  watch(second, 'b', first, 'a');
  watch(second, 'bc', first, 'a');
  assert.deepEqual([viewsOf(first), viewsOf(second)], [0, 2], 'c came back after ten seconds');
});

test('a replay adds a view to the usage of its stream when it begins, and its viewers are not those of the stream', () => {
  const world = setUp();
  const { playbackId, userId } = newStream();
  const replay = newPlaybackId();
  const { directory, usage } = world.registry;
  const watch = (viewOf?: PlaybackId) =>
    directory.watched(replay, { name: 'a', address: '10.0.0.1' }, { ofUser: userId, atMost: 0 }, viewOf);
  const views = () => usage.take().map((each) => [each.playbackId, each.counts.views]);
  watch();
  assert.deepEqual(views(), []);
  for (const viewOf of [playbackId, undefined, playbackId]) watch(viewOf);
  assert.deepEqual(views(), [[playbackId, 1]]);
  assert.deepEqual([directory.viewers(playbackId), directory.viewers(replay)], [0, 1]);
  directory.delivered(playbackId, 1000, 1800.5);
  const [hour] = usage.take();
  assert.deepEqual([hour?.counts.deliveredBytes, hour?.counts.watchedMs], [1000, 1800]);
});

test("a viewer beyond the quota of the stream's user is refused, and present viewers go on watching", async () => {
  const world = setUp({ quotas: { viewers: 2 } });
  const stream = newStream();
  goLive(world, stream);
  const watched = (name: string, address: string) =>
    world.registry.directory.watched(stream.playbackId, { name, address });
  const answers = [
    watched('a', '10.0.0.1'),
    watched('b', '10.0.1.1'),
    watched('c', '10.0.2.1'),
    watched('a', '10.0.0.1'),
  ];
  assert.deepEqual(answers, [true, true, false, true]);
});

test('a publisher that was accepted before its stream was terminated is disconnected, and one that was accepted later is not', () => {
  const setup = setUp();
  const { registry, refusals, publish } = setup;
  const stream = newStream();
  goLive(setup, stream);
  registry.follow(stream);
  assert.deepEqual(refusals, []);
  const terminated = { ...stream, terminations: 1 };
  registry.follow(terminated);
  assert.deepEqual(
    refusals.map(({ code }) => code),
    ['terminated'],
  );
  assert.ok(publish(terminated).accepted);
  registry.follow(terminated);
  assert.equal(refusals.length, 1);
});

test('a session that waits for its publisher ends when its stream is terminated, even one that was resumed after a restart', async () => {
  for (const isRestored of [false, true]) {
    const setup = setUp();
    const { registry, written, publish } = setup;
    const stream = someStream(newUserId(), { profiles: [], terminations: 3 });
    if (isRestored) registry.restore(someSession(stream), { phase: 'reconnecting', until: ms(9e15) });
    else goLive(setup, stream).end('connection_lost');
    registry.follow(stream);
    assert.equal(registry.directory.status(stream.id)?.phase, 'reconnecting');
    registry.follow({ ...stream, terminations: 4 });
    assert.equal(registry.directory.status(stream.id)?.phase, 'ended');
    await turns();
    assert.equal([...written.values()].at(-1)?.endReason, 'terminated');
    assert.ok(publish({ ...stream, terminations: 4 }).accepted);
  }
});

test('a publisher that comes back after its stream was terminated begins a new session', () => {
  const setup = setUp();
  const { registry } = setup;
  const stream = newStream();
  goLive(setup, stream).end('connection_lost');
  const first = registry.directory.status(stream.id)?.sessionId;
  goLive(setup, { ...stream, terminations: 1 });
  assert.notEqual(registry.directory.status(stream.id)?.sessionId, first);
});

test('a publisher that was accepted before the settings of its stream changed is disconnected, so that it reconnects with the new settings', () => {
  const { registry, refusals, publish } = setUp();
  const stream = newStream();
  accepted(publish(stream));
  registry.follow({ ...stream, name: 'another name' });
  assert.deepEqual(refusals, []);
  registry.follow({ ...stream, record: true });
  assert.equal(refusals.length, 1);
});

/** Gives the journal time to write to the store. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
