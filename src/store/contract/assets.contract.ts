/**
 * The part of the contract suite about assets: recordings, which follow their sessions, and clips.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as fc from 'fast-check';
import { ASSET_PHASES, type Asset } from '#domain/asset.ts';
import type { EventType, ServiceEvent } from '#domain/events.ts';
import { type AssetId, newClipId, newUserId } from '#domain/ids.ts';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import type { Session } from '#domain/session.ts';
import type { Stream } from '#domain/stream.ts';
import { DAY_MS, ms } from '#lib/units.ts';
import type { AssetFilter, AssetListOptions } from '#store/asset-store.ts';
import {
  SOME_EXTENT,
  someClip,
  someNode,
  someReceipt,
  someSession,
  someStream,
  someUser,
} from '#test/support/sample-records.ts';
import { describeOn, type Fixture, isMillraceError, type OpenStore, walk } from './suite.contract.ts';

/** Declares this part of the suite. */
export function assetsContract(name: string, open: OpenStore): void {
  describeOn(`${name}, keeping recordings`, open, (fixture) => recordings(fixture));
  describeOn(`${name}, keeping clips`, open, (fixture) => clips(fixture));
  describeOn(`${name}, listing assets`, open, (fixture) => assetLists(fixture));
  describeOn(`${name}, deleting assets`, open, (fixture) => deletions(fixture));
  describeOn(`${name}, forgetting deleted streams`, open, (fixture) => forgottenStreams(fixture));
}

const ENDED = { phase: 'ended', endedAt: ms(1_700_000_061_700), endReason: 'unpublished' } as const;

async function recordedStream({ store, user }: Fixture, change: Partial<Stream> = {}): Promise<Stream> {
  const stream = someStream(user.id, { record: true, creatorId: 'me', ...change });
  await store.streams.create(stream, someReceipt());
  return stream;
}

/** A live session that is recorded, in the store. */
async function recorded(fixture: Fixture, change: Partial<Session> = {}): Promise<Session> {
  const session = someSession(await recordedStream(fixture), { phase: 'live', ...change });
  await fixture.store.sessions.create(session);
  return session;
}

/** A live session that is recorded at a node whose lease is held. */
async function recordedAtNode(fixture: Fixture) {
  const { store } = fixture;
  const stream = await recordedStream(fixture);
  const node = someNode();
  await store.nodes.renew(node, 60_000);
  await store.publishers.claim(stream.id, node.id);
  const session = someSession(stream, { phase: 'live', nodeId: node.id });
  await store.sessions.create(session, node.id);
  return { node, session };
}

const assetIdOf = (session: Pick<Session, 'id'>) => session.id as string as AssetId;

/** Numbers all events, and returns those of a stream's assets, oldest first. */
async function eventsOf(
  { store, user }: Fixture,
  { streamId }: Pick<Session, 'streamId'>,
): Promise<readonly ServiceEvent[]> {
  while ((await store.events.number(100)) > 0);
  const events = await store.events.list(user.id, { limit: 1000, direction: 'asc', filter: { streamId } });
  return events.filter(({ type }) => /^(recording|asset)\./.test(type));
}

const typesOf = (events: readonly ServiceEvent[]): EventType[] => events.map(({ type }) => type);

function recordings(fixture: Fixture): void {
  it('has the recording of a session from its creation on, and none of a session that is not recorded', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture);
    await store.sessions.create(session);
    const asset = await store.assets.get(assetIdOf(session), user.id);
    assert.deepEqual(asset, {
      id: session.id,
      kind: 'recording',
      userId: user.id,
      streamId: session.streamId,
      sessionId: session.id,
      playbackId: asset?.playbackId,
      path: session.recordingPath,
      mediaPath: session.recordingPath,
      clippedFrom: undefined,
      fromMs: undefined,
      untilMs: undefined,
      name: session.name,
      creatorId: 'me',
      createdAt: session.createdAt,
      updatedAt: session.createdAt,
      phase: 'recording',
      failure: undefined,
      durationS: 0,
      sizeBytes: 0,
      tracks: [],
      nodeId: session.nodeId,
      isStored: false,
      playbackPolicy: undefined,
    });
    assert.notEqual(asset.playbackId, session.playbackId);
    for (const shown of [asset.playbackId, asset.id]) {
      assert.deepEqual(await store.assets.byPlaybackId(shown), asset);
    }
    assert.deepEqual(await store.assets.byPath(asset.path), { asset, node: undefined });
    assert.deepEqual(await store.assets.getMany([asset.id, newClipId()]), [asset]);

    const stream = someStream(user.id);
    await store.streams.create(stream, someReceipt());
    const other = someSession(stream, { phase: 'live' });
    await store.sessions.create(other);
    assert.equal(await store.assets.get(assetIdOf(other), 'everyone'), undefined);
  });

  it('shows an asset to its user and to admins, and to no other user', async () => {
    const { store } = fixture;
    const id = assetIdOf(await recorded(fixture));
    assert.equal(await store.assets.get(id, newUserId()), undefined);
    assert.equal((await store.assets.get(id, 'everyone'))?.id, id);
    const receipt = someReceipt();
    assert.equal(await store.assets.change(id, newUserId(), { name: 'mine' }, receipt), false);
    assert.equal(await store.assets.delete(id, newUserId(), receipt), false);
    assert.deepEqual((await store.audit.list({ resourceId: receipt.audit.resourceId }, { limit: 9 })).rows, []);
  });

  it('follows the session to its end, and is then ready with what was recorded, with one event for each step', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture);
    const id = assetIdOf(session);
    const phase = async () => (await store.assets.get(id, user.id))?.phase;
    assert.equal(await store.assets.progress(id, SOME_EXTENT), true);
    assert.deepEqual(await store.assets.get(id, user.id).then((found) => found?.tracks), SOME_EXTENT.tracks);
    assert.equal((await store.assets.get(id, user.id))?.updatedAt, session.createdAt);
    for (const _ of [1, 2]) await store.sessions.change(session.id, ENDED);
    assert.equal(await phase(), 'storing');
    assert.equal((await store.assets.get(id, user.id))?.updatedAt, ENDED.endedAt);
    assert.equal(await store.assets.finish(id, SOME_EXTENT, ms(1_700_000_070_000)), true);
    assert.equal(await store.assets.finish(id, { ...SOME_EXTENT, durationS: 1 }, ms(1_700_000_080_000)), false);
    assert.equal(await store.assets.fail(id, 'Too late.', ms(1_700_000_080_000)), false);
    assert.equal(await store.assets.progress(id, { ...SOME_EXTENT, durationS: 1 }), false);
    await store.assets.stored(id);
    const { durationS, sizeBytes, fromMs, untilMs, tracks, updatedAt, isStored } = (await store.assets.get(
      id,
      user.id,
    ))!;
    assert.deepEqual({ durationS, sizeBytes, fromMs, untilMs, tracks }, SOME_EXTENT);
    assert.deepEqual([await phase(), updatedAt, isStored], ['ready', 1_700_000_070_000, true]);
    const events = await eventsOf(fixture, session);
    assert.deepEqual(typesOf(events), [
      'recording.started',
      'asset.created',
      'recording.waiting',
      'recording.ready',
      'asset.ready',
    ]);
    assert.ok(events.every(({ sessionId }) => sessionId === session.id));
    const folder = `/recordings/${session.recordingPath}`;
    const urls = { recordingUrl: `${folder}/index.m3u8`, mp4Url: `${folder}/source.mp4` };
    assert.deepEqual(events.at(-2)?.payload, {
      assetId: id,
      session: {
        id,
        parentId: session.streamId,
        playbackId: session.playbackId,
        record: true,
        recordingStatus: 'ready',
        assetId: id,
        ...urls,
      },
      ...urls,
    });
    assert.deepEqual(events.at(-1)?.payload, {
      asset: {
        id,
        playbackId: (await store.assets.get(id, user.id))?.playbackId,
        source: { type: 'recording', sessionId: id },
        status: { phase: 'ready', updatedAt: 1_700_000_070_000 },
        playbackUrl: urls.recordingUrl,
        downloadUrl: urls.mp4Url,
      },
    });
  });

  it('is ready although the end of its session is stored later, and waits although its session was stored after its end', async () => {
    const { store, user } = fixture;
    const early = await recorded(fixture);
    await store.assets.finish(assetIdOf(early), SOME_EXTENT, ms(5));
    await store.sessions.change(early.id, ENDED);
    assert.equal((await store.assets.get(assetIdOf(early), user.id))?.phase, 'ready');
    const late = await recorded(fixture, ENDED);
    assert.equal((await store.assets.get(assetIdOf(late), user.id))?.phase, 'storing');
    const [first, second] = [await eventsOf(fixture, early), await eventsOf(fixture, late)];
    assert.deepEqual(typesOf(second), ['recording.started', 'asset.created', 'recording.waiting']);
    assert.deepEqual(typesOf(first), [...typesOf(second), 'recording.ready', 'asset.ready']);
  });

  it('fails with a sentence, and when nothing was recorded', async () => {
    const { store, user } = fixture;
    const [broken, empty] = [await recorded(fixture), await recorded(fixture)];
    await store.assets.fail(assetIdOf(broken), 'The "disk" was lost.', ms(5));
    const nothing = { durationS: 0, sizeBytes: 0, fromMs: undefined, untilMs: undefined, tracks: [] };
    await store.assets.finish(assetIdOf(empty), nothing, ms(5));
    for (const [session, failure] of [
      [broken, 'The "disk" was lost.'],
      [empty, 'Nothing was recorded.'],
    ] as const) {
      const asset = await store.assets.get(assetIdOf(session), user.id);
      assert.deepEqual([asset?.phase, asset?.failure], ['failed', failure]);
      const last = (await eventsOf(fixture, session)).at(-1);
      assert.deepEqual([last?.type, 'mp4Url' in last!.payload], ['recording.failed', false]);
    }
  });

  it('waits when its node is lost, and goes on when the session is resumed', async () => {
    const { store, user } = fixture;
    const { node, session } = await recordedAtNode(fixture);
    assert.deepEqual((await store.assets.byPath(session.recordingPath!))?.node, node);
    await store.nodes.renew(node, -1);
    await store.nodes.endSessionsOf(node.id, ms(1_700_000_061_700));
    const phase = async () => (await store.assets.get(assetIdOf(session), user.id))?.phase;
    assert.equal(await phase(), 'storing');
    await store.nodes.renew(node, 60_000);
    await store.sessions.resume(session, { phase: 'live' }, node.id);
    assert.equal(await phase(), 'recording');
    await store.sessions.change(session.id, ENDED, node.id);
    assert.equal(await phase(), 'storing');
    assert.deepEqual(typesOf(await eventsOf(fixture, session)), [
      'recording.started',
      'asset.created',
      'recording.waiting',
      'recording.waiting',
    ]);
  });

  it('counts as stored only once it is settled, and is then not resumed with its session', async () => {
    const { store, user } = fixture;
    const { node, session } = await recordedAtNode(fixture);
    const id = assetIdOf(session);
    assert.equal(await store.assets.stored(id), false);
    await store.nodes.renew(node, -1);
    await store.nodes.endSessionsOf(node.id, ms(1_700_000_061_700));
    assert.equal(await store.assets.stored(id), false);
    await store.assets.finish(id, SOME_EXTENT, ms(1_700_000_061_700));
    assert.equal(await store.assets.stored(id), true);
    await store.nodes.renew(node, 60_000);
    await store.sessions.resume(session, { phase: 'live' }, node.id);
    const { phase, isStored } = (await store.assets.get(id, user.id))!;
    assert.deepEqual([phase, isStored], ['ready', true]);
  });

  it('is reported from its beginning to its end when the session has ended before it was stored', async () => {
    const { store, user } = fixture;
    const { streamId } = await recorded(fixture, ENDED);
    await eventsOf(fixture, { streamId });
    const events = await store.events.list(user.id, { limit: 1000, direction: 'asc', filter: { streamId } });
    assert.deepEqual(typesOf(events).slice(-5), [
      'session.started',
      'recording.started',
      'asset.created',
      'session.ended',
      'recording.waiting',
    ]);
  });

  it('lists what a node must still complete, oldest first', async () => {
    const { store } = fixture;
    const node = someNode();
    const nodeId = node.id;
    const later = await recorded(fixture, { nodeId, createdAt: ms(9) });
    const earlier = await recorded(fixture, { nodeId, createdAt: ms(8), ...ENDED });
    const done = await recorded(fixture, { nodeId });
    await store.assets.finish(assetIdOf(done), SOME_EXTENT, ms(9));
    const ours = new Set<string>([later.id, earlier.id, done.id]);
    const open = (await store.assets.open(nodeId)).map(({ id }) => id).filter((id) => ours.has(id));
    assert.deepEqual(open, [earlier.id, later.id]);
  });

  it('is changed by its owner, and keeps the session when that would be deleted', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture, { ...ENDED, endedAt: ms(3) });
    const id = assetIdOf(session);
    const change = { name: 'Ärger', creatorId: undefined, playbackPolicy: { type: 'jwt' } } as const;
    assert.equal(await store.assets.change(id, user.id, change, someReceipt({ at: ms(1_800_000_000_000) })), true);
    assert.equal(await store.assets.change(id, user.id, {}, someReceipt({ at: ms(1_800_000_000_000) })), true);
    const { name, creatorId, playbackPolicy, updatedAt } = (await store.assets.get(id, user.id))!;
    assert.deepEqual({ name, creatorId, playbackPolicy }, change);
    assert.equal(updatedAt, 1_800_000_000_000);
    await store.sessions.deleteEnded(ms(4), 100);
    await store.sessions.create(someSession(await recordedStream(fixture), ENDED));
    await store.sessions.deleteBeyond(user.id, 1, 100);
    assert.equal((await store.sessions.get(session.id, user.id))?.id, session.id);
    await store.assets.delete(id, user.id, someReceipt());
    await store.sessions.deleteEnded(ms(4), 100);
    assert.equal(await store.sessions.get(session.id, user.id), undefined);
  });

  it("counts the bytes and seconds of a user's recordings", async () => {
    const { store, user } = fixture;
    assert.equal(await store.assets.bytesOf(user.id), 0);
    const sessions = [await recorded(fixture), await recorded(fixture), await recorded(fixture, ENDED)];
    for (const session of sessions) await store.assets.progress(assetIdOf(session), SOME_EXTENT);
    await store.assets.createClip(someClip(sessions[0]!), assetIdOf(sessions[0]!), someReceipt());
    assert.equal(await store.assets.bytesOf(user.id), 3 * 2 ** 40);
    const seconds = await store.assets.secondsOf(user.id);
    assert.ok(seconds > 0);
    await store.assets.delete(assetIdOf(sessions[2]!), user.id, someReceipt());
    assert.equal(await store.assets.bytesOf(user.id), 2 * 2 ** 40);
    assert.ok(Math.abs((await store.assets.secondsOf(user.id)) - (seconds * 2) / 3) < 0.001);
  });

  it('counts what clips keep of a deleted recording, until they are deleted, too', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture, ENDED);
    await store.assets.progress(assetIdOf(session), SOME_EXTENT);
    const clip = someClip(session, { sizeBytes: 1000, durationS: 5 });
    await store.assets.createClip(clip, assetIdOf(session), someReceipt());
    const counted = async () => [await store.assets.bytesOf(user.id), await store.assets.secondsOf(user.id)];
    const [bytes, seconds] = await counted();
    await store.assets.delete(assetIdOf(session), user.id, someReceipt());
    const { sizeBytes, durationS } = SOME_EXTENT;
    assert.deepEqual(await counted(), [bytes! - sizeBytes + 1000, seconds! - durationS + 5]);
    await store.assets.delete(clip.id, user.id, someReceipt());
    assert.deepEqual(await counted(), [bytes! - sizeBytes, seconds! - durationS]);
  });
}

function clips(fixture: Fixture): void {
  it('keeps a clip as it was given, beside its recording', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture);
    const clip = someClip(session, { creatorId: 'me', playbackPolicy: { type: 'jwt' } });
    await store.assets.createClip(clip, assetIdOf(session), someReceipt());
    assert.deepEqual(await store.assets.get(clip.id, user.id), clip);
    assert.deepEqual((await store.assets.byPath(clip.path))?.asset, clip);
    assert.deepEqual(await store.assets.clipsOf(assetIdOf(session)), [clip]);
    const events = (await eventsOf(fixture, session)).slice(2);
    assert.deepEqual(typesOf(events), ['asset.created', 'asset.ready']);
    await assert.rejects(
      store.assets.createClip({ ...clip, id: newClipId() }, clip.id, someReceipt()),
      isMillraceError('conflict'),
    );
  });

  it('refuses a clip of a recording that is deleted, failed or unknown, without an audit entry', async () => {
    const { store, user } = fixture;
    const [gone, failed] = [await recorded(fixture, ENDED), await recorded(fixture, ENDED)];
    await store.assets.delete(assetIdOf(gone), user.id, someReceipt());
    await store.assets.fail(assetIdOf(failed), 'No.', ms(5));
    const unknown = someSession(await recordedStream(fixture));
    for (const session of [gone, failed, unknown]) {
      const receipt = someReceipt();
      await assert.rejects(
        store.assets.createClip(someClip(session), assetIdOf(session), receipt),
        isMillraceError('not_found'),
      );
      assert.deepEqual((await store.audit.list({ resourceId: receipt.audit.resourceId }, { limit: 9 })).rows, []);
      assert.deepEqual(await store.assets.clipsOf(assetIdOf(session)), []);
    }
  });

  it('gives a user no more clips than the limit, and another after one was deleted', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture);
    const create = () => store.assets.createClip(someClip(session), assetIdOf(session), someReceipt(), { atMost: 2 });
    await create();
    await create();
    await assert.rejects(create(), isMillraceError('quota_exceeded'));
    assert.equal(await store.assets.countOf(user.id, 9), 2);
    const [clip] = await store.assets.clipsOf(assetIdOf(session));
    await store.assets.delete(clip!.id, user.id, someReceipt());
    await create();
  });
}

function deletions(fixture: Fixture): void {
  it('deletes a recording for its owner once, keeps its clips, and lists recordings whose bytes are to be deleted', async () => {
    const { store, user } = fixture;
    const session = await recorded(fixture, ENDED);
    const id = assetIdOf(session);
    const asset = (await store.assets.get(id, user.id))!;
    const clip = someClip(session);
    await store.assets.createClip(clip, id, someReceipt());
    assert.equal(await store.assets.delete(id, user.id, someReceipt({ at: ms(100) })), true);
    assert.equal(await store.assets.delete(id, user.id, someReceipt()), false);
    assert.equal(await store.assets.get(id, user.id), undefined);
    assert.equal(await store.assets.byPlaybackId(asset.playbackId), undefined);
    assert.equal(await store.assets.byPath(asset.path), undefined);
    assert.deepEqual(await store.assets.getMany([id]), []);
    assert.equal((await store.assets.getMany([id], 'all'))[0]?.phase, 'deleting');
    assert.equal(await store.assets.finish(id, SOME_EXTENT, ms(200)), false);
    assert.deepEqual(await store.assets.clipsOf(id), [clip]);
    const inner = someClip(session);
    await assert.rejects(store.assets.createClip(inner, id, someReceipt()), isMillraceError('not_found'));
    await store.assets.createClip(inner, clip.id, someReceipt());
    await store.assets.delete(inner.id, user.id, someReceipt());

    const deleting = async (before: number) =>
      (await store.assets.deleting({ before: ms(before), limit: 1000 })).filter((each) => each.id === id).length;
    assert.deepEqual([await deleting(100), await deleting(101)], [0, 1]);
    assert.deepEqual(await store.assets.deleting({ before: ms(101), after: id, limit: 1 }), []);
    await store.assets.deleted(id);
    assert.equal(await deleting(101), 0);
    assert.equal((await store.assets.getMany([id], 'all'))[0]?.phase, 'deleted');
    assert.equal(typesOf(await eventsOf(fixture, session)).filter((type) => type === 'asset.deleted').length, 2);
    while ((await store.assets.forget(ms(101), 10)) === 10);
    assert.deepEqual(await store.assets.getMany([id], 'all'), []);
    assert.equal(await store.assets.delete(clip.id, user.id, someReceipt()), true);
    assert.deepEqual(await store.assets.clipsOf(id), []);
  });

  it('does not delete a recording that runs', async () => {
    const { store, user } = fixture;
    const id = assetIdOf(await recorded(fixture));
    await assert.rejects(store.assets.delete(id, user.id, someReceipt()), isMillraceError('conflict'));
    assert.equal(await store.assets.expire(id, ms(5)), false);
    assert.equal((await store.assets.get(id, user.id))?.phase, 'recording');
  });

  it('makes recordings due a day after their stream was deleted, and when they are old', async () => {
    const { store, user } = fixture;
    const deleted = await recorded(fixture, { ...ENDED, endedAt: ms(50 * DAY_MS) });
    const running = await recorded(fixture);
    const old = await recorded(fixture, { ...ENDED, endedAt: ms(10 * DAY_MS) });
    const kept = await recorded(fixture, { ...ENDED, endedAt: ms(20 * DAY_MS) });
    for (const { streamId } of [deleted, running]) {
      await store.streams.delete([streamId], user.id, [someReceipt({ at: ms(60 * DAY_MS) })]);
    }
    // A deletion may cross the first part of a session.
    const late = someSession(await recordedStream(fixture), { ...ENDED, endedAt: ms(60 * DAY_MS) });
    await store.streams.delete([late.streamId], user.id, [someReceipt({ at: ms(60 * DAY_MS) })]);
    await store.sessions.create(late);
    const ours = new Set<string>([deleted, running, old, kept].map(({ id }) => id));
    const isLate = async (now: number) =>
      (await store.assets.due({ now: ms(now), endedBefore: undefined, limit: 1000 })).some(
        ({ id }) => id === assetIdOf(late),
      );
    assert.deepEqual([await isLate(61 * DAY_MS - 1), await isLate(61 * DAY_MS)], [false, true]);
    const due = async (now: number, endedBefore?: number) =>
      (
        await store.assets.due({
          now: ms(now),
          endedBefore: endedBefore === undefined ? undefined : ms(endedBefore),
          limit: 1000,
        })
      )
        .map(({ id }) => id)
        .filter((id) => ours.has(id));
    assert.deepEqual(await due(61 * DAY_MS - 1), []);
    assert.deepEqual(await due(61 * DAY_MS), [deleted.id]);
    assert.deepEqual(await due(61 * DAY_MS, 20 * DAY_MS), [deleted.id, old.id]);
    assert.deepEqual(await due(61 * DAY_MS, 90 * DAY_MS), [deleted.id, old.id, kept.id]);
    const oldest = (await store.assets.oldest(old.nodeId, 1000)).map(({ id }) => id).filter((id) => ours.has(id));
    assert.deepEqual(oldest, [old.id, kept.id, deleted.id]);
    await store.assets.finish(assetIdOf(kept), SOME_EXTENT, ms(20 * DAY_MS));
    await store.assets.stored(assetIdOf(kept));
    const unstored = (await store.assets.oldest(old.nodeId, 1000)).map(({ id }) => id).filter((id) => ours.has(id));
    assert.deepEqual(unstored, [old.id, deleted.id]);
    assert.equal(await store.assets.expire(assetIdOf(old), ms(61 * DAY_MS)), true);
    assert.equal(await store.assets.expire(assetIdOf(old), ms(61 * DAY_MS)), false);
    assert.deepEqual(await due(61 * DAY_MS, 20 * DAY_MS), [deleted.id]);
  });
}

/** Arbitrary times. They are few, so that pages end between rows with the same time. */
const someTime = fc.integer({ min: 0, max: 4 }).map(ms);
const NAMES = ['Show', 'sHoW 100%', 'ÄRGER'] as const;

function assetLists(fixture: Fixture): void {
  it('gives the assets that match, in order, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            createdAt: someTime,
            updatedAt: someTime,
            name: fc.constantFrom(...NAMES),
            creatorId: fc.constantFrom(undefined, 'me', 'you'),
            nthSession: fc.nat(2),
            isFromRecording: fc.boolean(),
          }),
          { maxLength: 8 },
        ),
        fc.record({
          order: fc.constantFrom('createdAt', 'updatedAt'),
          direction: fc.constantFrom('asc', 'desc'),
          limit: fc.integer({ min: 1, max: 5 }),
        }),
        fc.record(
          {
            name: fc.constantFrom('show', 'ärg', '%', 'nothing'),
            creatorId: fc.constantFrom('me', 'nobody'),
            phase: fc.constantFrom(...ASSET_PHASES),
            kind: fc.constantFrom('recording', 'clip'),
            from: someTime,
            to: someTime,
          },
          { requiredKeys: [] },
        ),
        fc.record(
          { by: fc.constantFrom('id', 'playbackId', 'sessionId', 'streamId', 'clippedFrom'), nth: fc.nat(3) },
          { requiredKeys: [] },
        ),
        async (rows, page, asked, { by, nth = 0 }) => {
          const { store } = fixture;
          const owner = await store.users.ensure(someUser());
          const sessions: Session[] = [];
          for (const phase of ['live', 'live', 'ended'] as const) {
            const stream = await recordedStream({ store, user: owner });
            sessions.push(
              someSession(stream, phase === 'ended' ? { ...ENDED, createdAt: ms(2) } : { phase, createdAt: ms(1) }),
            );
            await store.sessions.create(sessions.at(-1)!);
          }
          const all: Asset[] = [...(await store.assets.getMany(sessions.map(assetIdOf)))];
          for (const { nthSession, isFromRecording, ...row } of rows) {
            const clip = someClip(sessions[nthSession]!, row);
            all.push(isFromRecording ? { ...clip, clippedFrom: all[nthSession]!.playbackId } : clip);
            await store.assets.createClip(all.at(-1)!, all[nthSession]!.id, someReceipt());
          }
          const one = by === undefined ? undefined : all[nth];
          const filter: AssetFilter = { ...asked, ...(by && one?.[by] !== undefined && { [by]: one[by] }) };
          const expected = all
            .filter((asset) => fits(asset, filter, page))
            .toSorted((a, b) => a[page.order] - b[page.order] || (a.id < b.id ? -1 : 1))
            .map(({ id }) => id);
          if (page.direction === 'desc') expected.reverse();
          for (const scope of [owner.id, 'everyone'] as const) {
            const listed = await walk((after) => store.assets.list(scope, { ...page, filter, after }));
            const ours = listed.filter(({ userId }) => userId === owner.id).map(({ id }) => id);
            assert.deepEqual(ours, expected);
            assert.equal(await store.assets.count(scope, filter, page.order), listed.length);
          }
        },
      ),
      { numRuns: 25 },
    );
  });
}

function fits(
  asset: Asset,
  { name = '', from = ms(0), to = ms(Number.MAX_SAFE_INTEGER), ...filter }: AssetFilter,
  { order }: Pick<AssetListOptions, 'order'>,
) {
  return (
    asset.name.toUpperCase().includes(name.toUpperCase()) &&
    asset[order] >= from &&
    asset[order] <= to &&
    Object.entries(filter).every(([key, value]) => asset[key as keyof Asset] === value)
  );
}

function forgottenStreams(fixture: Fixture): void {
  it('leaves nothing of a deleted stream that was never published to, and of others only what their sessions and clips need', async () => {
    const { store, user } = fixture;
    const node = someNode();
    await store.nodes.renew(node, 60_000);
    const large = {
      profiles: [{ ...DEFAULT_PROFILES[0]!, name: 'x'.repeat(500) }],
      userTags: { tag: 'x'.repeat(1000) },
      playbackPolicy: { type: 'jwt', allowedOrigins: ['https://example.com'] },
    } as const;
    const create = () => recordedStream(fixture, large);
    const [unused, used, claimed, clipped, young, present] = [
      await create(),
      await create(),
      await create(),
      await create(),
      await create(),
      await create(),
    ];
    const session = someSession(used, { ...ENDED, recordingPath: undefined });
    await store.sessions.create(session);
    assert.equal(await store.publishers.claim(claimed.id, node.id), true);
    const recording = someSession(clipped, ENDED);
    await store.sessions.create(recording);
    const clip = someClip(recording);
    await store.assets.createClip(clip, assetIdOf(recording), someReceipt());
    for (const [index, { id }] of [unused, used, claimed, clipped, young].entries()) {
      await store.streams.delete([id], user.id, [someReceipt({ at: ms(index + 1) })]);
    }
    await store.assets.delete(assetIdOf(recording), user.id, someReceipt());

    const stored = async ({ id }: Stream) => (await store.streams.getMany([id], 'all'))[0];
    const isWhole = async (stream: Stream) => {
      const { streamKey, ...rest } = (await stored(stream))!;
      const { streamKey: key, ...whole } = stream;
      assert.deepEqual(rest, whole);
      assert.ok(streamKey.equals(key));
    };
    const isEmpty = async ({ id, playbackId, userId }: Stream) => {
      const found = await store.streams.getMany([id], 'all');
      assert.deepEqual(
        found.map((each) => ({ ...each, streamKey: each.streamKey.reveal() })),
        [
          {
            ...present,
            id,
            playbackId,
            userId,
            name: '',
            streamKey: '',
            createdByTokenName: '',
            profiles: [],
            suspended: true,
            creatorId: undefined,
            userTags: undefined,
            playbackPolicy: undefined,
          },
        ],
      );
    };
    assert.equal(await store.streams.forgetDeleted(ms(1), 9), 0);
    assert.equal(await store.streams.forgetDeleted(ms(5), 2), 2);
    for (const stream of [claimed, clipped, young, present]) await isWhole(stream);
    assert.equal(await store.streams.forgetDeleted(ms(5), 9), 1);
    assert.equal(await store.streams.forgetDeleted(ms(5), 9), 0);
    assert.equal(await stored(unused), undefined);
    for (const stream of [used, claimed]) await isEmpty(stream);
    for (const stream of [clipped, young, present]) await isWhole(stream);
    assert.deepEqual(await store.sessions.get(session.id, user.id), session);
    assert.equal((await store.sessions.newest(used.playbackId))?.session.id, session.id);

    await store.assets.delete(clip.id, user.id, someReceipt());
    assert.equal(await store.streams.forgetDeleted(ms(5), 9), 1);
    await isEmpty(clipped);
  });
}
