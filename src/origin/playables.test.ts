import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Asset } from '#domain/asset.ts';
import { type AssetId, newPlaybackId, newSessionId, newUserId } from '#domain/ids.ts';
import type { Stream } from '#domain/stream.ts';
import type { User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import { someStream } from '#test/support/sample-records.ts';
import { Playables } from './playables.ts';

const STRANGER = '192.0.2.1';
const OTHER = '198.51.100.1';

/** A store with a stream and the recording of a session, which counts its lookups by address. */
function setUp() {
  const stream = someStream(newUserId());
  const id = newSessionId() as string as AssetId;
  const asset = { id, playbackId: newPlaybackId(), streamId: stream.id, name: 'a replay' } as Asset;
  const looks = new Map<string | undefined, number>();
  const look = (stranger: string | undefined) => void looks.set(stranger, (looks.get(stranger) ?? 0) + 1);
  const world = { streams: [stream], isUserSuspended: false, live: undefined as Stream | undefined };
  const playables = new Playables({
    live: { watchedStream: (id) => (id === stream.playbackId ? world.live : undefined) },
    store: {
      streams: {
        byPlaybackId: async (playbackId, stranger) => {
          look(stranger);
          return world.streams.find((each) => each.playbackId === playbackId);
        },
        getMany: async () => world.streams,
      },
      assets: {
        byPlaybackId: async (asked, stranger) => {
          look(stranger);
          return [asset.id, asset.playbackId].includes(asked as never) ? asset : undefined;
        },
      },
      users: { get: async () => ({ suspended: world.isUserSuspended }) as User },
    },
    clock: { now: () => ms(0), monotonic: () => ms(0) },
  });
  return { playables, world, stream, asset, looks };
}

test('streams have their playback id, recordings theirs and the id of their session, and each is found as it is now', async () => {
  const { playables, world, stream, asset } = setUp();
  for (const id of [asset.id, asset.playbackId]) {
    assert.deepEqual(await playables.find(id, OTHER), { kind: 'asset', asset, stream, isSuspended: false });
  }
  const isFound = { kind: 'stream', stream, isSuspended: false };
  assert.deepEqual(await playables.find(stream.playbackId, OTHER), isFound);
  const suspended = { ...stream, suspended: true };
  world.streams = [suspended];
  assert.deepEqual(await playables.find(stream.playbackId, OTHER), {
    kind: 'stream',
    stream: suspended,
    isSuspended: true,
  });
  world.streams = [];
  assert.equal(await playables.find(stream.playbackId, OTHER), undefined);
  assert.equal(await playables.find('not an id', OTHER), undefined);
});

test('a stream and its recordings are suspended together with their user', async () => {
  const { playables, world, stream, asset } = setUp();
  for (const isSuspended of [true, false]) {
    world.isUserSuspended = isSuspended;
    for (const id of [stream.playbackId, asset.id, asset.playbackId]) {
      assert.equal((await playables.find(id, OTHER))?.isSuspended, isSuspended);
    }
  }
});

test('strangers may know the name of a stream or recording only if everybody may watch it', async () => {
  const { playables, world, stream, asset } = setUp();
  const namesIn = async () => {
    const found = [stream, asset].map(({ playbackId }) => playables.rightsOf(playbackId, OTHER));
    return (await Promise.all(found)).map((rights) => rights?.publicName);
  };
  const hidden: readonly Partial<Stream>[] = [
    { playbackPolicy: { type: 'jwt' } },
    { playbackPolicy: { type: 'public', allowedOrigins: ['https://example.com'] } },
    { suspended: true },
  ];
  for (const isLive of [false, true]) {
    const use = (changed: Stream) => {
      world.streams = [changed];
      world.live = isLive ? changed : undefined;
    };
    use(stream);
    assert.deepEqual(await namesIn(), [stream.name, 'a replay']);
    for (const change of hidden) {
      use({ ...stream, ...change });
      assert.deepEqual(await namesIn(), [undefined, undefined], JSON.stringify(change));
    }
  }
});

for (const [what, invent] of [
  ['playback ids', newPlaybackId],
  ['ids of sessions', newSessionId],
] as const) {
  test(`an address that asks for many unknown ${what} causes no more lookups, and finds what was found before`, async () => {
    const { playables, stream, looks } = setUp();
    await playables.find(stream.playbackId, OTHER);
    for (let asked = 0; asked < 600; asked += 1) {
      assert.equal(await playables.find(invent(), STRANGER), undefined);
    }
    const caused = looks.get(STRANGER)!;
    await assert.rejects(playables.find(invent(), STRANGER), { code: 'too_many_viewers' });
    await assert.rejects(playables.rightsOf(invent(), STRANGER), { code: 'too_many_viewers' });
    assert.equal(looks.get(STRANGER), caused);
    assert.equal((await playables.find(stream.playbackId, STRANGER))?.kind, 'stream');
    assert.equal(await playables.find(invent(), OTHER), undefined);
  });
}
