import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { NewStreamEvent } from '#domain/events.ts';
import { newNodeId, newPlaybackId, newStreamId, newUserId } from '#domain/ids.ts';
import { newApiKeySecret, newStreamKey, Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import { ms } from '#lib/units.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someKey, someStream, someUser } from '#test/support/sample-records.ts';
import { PublishAttempts, type PublishAttemptsOptions } from './publish-attempts.ts';
import { refusedPublishOf } from './recent-attempts.ts';

const ENCODER = { protocol: 'rtmp', remoteAddress: '192.0.2.1', encoder: 'OBS' };
const user = someUser();
const stream = someStream(user.id);
const apiKey = newApiKeySecret();
const formerKey = newStreamKey();
const deleted = someStream(user.id);
/** Streams with known playback ids. */
const others = Array.from({ length: 400 }, () => someStream(newUserId()));

/** Attempts over a store with a stream that has a former key, a deleted stream, and an API key. */
function setUp(t: TestContext) {
  const time = { now: 1_000_000 };
  const events: NewStreamEvent[] = [];
  const listeners = new Set<(announcement: StoreAnnouncement) => void>();
  const announced: StoreAnnouncement[] = [];
  const store = {
    isShared: true,
    announce: async (announcement: StoreAnnouncement) => {
      announced.push(announcement);
      for (const listener of listeners) listener(announcement);
    },
    listen: (listener: (announcement: StoreAnnouncement) => void) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    streams: {
      byStreamKey: async (key: Secret) => (key.equals(stream.streamKey) ? stream : undefined),
      formerly: async (key: Secret) => {
        if (key.equals(formerKey)) return { stream, replacedAt: ms(77) };
        return key.equals(deleted.streamKey) ? { stream: deleted, replacedAt: undefined } : undefined;
      },
      byPlaybackId: async (id: string) => [stream, ...others].find(({ playbackId }) => playbackId === id),
      getMany: async ([id]: readonly string[]) => (id === stream.id ? [stream] : []),
    },
    apiKeys: {
      byHash: async (hash: string) => (hash === apiKey.hash() ? { key: someKey(user), user } : undefined),
    },
  } as unknown as PublishAttemptsOptions['store'];
  const clock = { now: () => ms(time.now), monotonic: () => ms(time.now) };
  const open = () => {
    const happened = (event: NewStreamEvent) => void events.push(event);
    const attempts = new PublishAttempts({ store, nodeId: newNodeId(), clock, logger: silentLogger, happened });
    t.after(() => attempts[Symbol.asyncDispose]());
    return attempts;
  };
  return { open, events, time, announced };
}

test('a wrong key is attributed to the stream or user that it was meant for, and to nobody else', async (t) => {
  const { open, events } = setUp(t);
  const attempts = open();
  const key = stream.streamKey.reveal();
  for (const text of [
    formerKey.reveal(),
    deleted.streamKey.reveal(),
    stream.playbackId,
    stream.id,
    apiKey.reveal(),
    `"${key}"`,
    `rtmp://live.example.com/live/${key}/`,
    newStreamKey().reveal(),
    newPlaybackId(),
    newStreamId(),
    'test',
  ]) {
    attempts.wrongKey(ENCODER, new Secret(text));
  }
  attempts.wrongKey({ ...ENCODER, remoteAddress: '192.0.2.9' }, new Secret(`live/app/${key}`), 'address_invalid');
  await attempts[Symbol.asyncDispose]();
  const refused = events.flatMap((event) =>
    event.type === 'publish.refused'
      ? [[event.streamId, event.payload.reason, event.payload.count, event.payload.replacedAt]]
      : [],
  );
  assert.deepEqual(refused, [
    [stream.id, 'key_replaced', 1, 77],
    [deleted.id, 'stream_deleted', 1, undefined],
    [stream.id, 'key_is_playback_id', 1, undefined],
    [stream.id, 'key_is_stream_id', 1, undefined],
    [stream.id, 'key_not_alone', 1, undefined],
    [stream.id, 'address_invalid', 1, undefined],
    [stream.id, 'key_not_alone', 1, undefined],
  ]);
  const recent = attempts.recent.map(({ reason, count, userId, address }) => [reason, count, userId, address]);
  assert.deepEqual(recent, [
    ['address_invalid', 1, user.id, '192.0.2.9'],
    ['key_unknown', 4, undefined, '192.0.2.1'],
    ['key_not_alone', 2, user.id, '192.0.2.1'],
    ['key_is_api_key', 1, user.id, '192.0.2.1'],
    ['key_is_stream_id', 1, user.id, '192.0.2.1'],
    ['key_is_playback_id', 1, user.id, '192.0.2.1'],
    ['stream_deleted', 1, user.id, '192.0.2.1'],
    ['key_replaced', 1, user.id, '192.0.2.1'],
  ]);
  const told = JSON.stringify([events, attempts.recent]);
  for (const secret of [key, formerKey.reveal(), apiKey.reveal()]) assert.ok(!told.includes(secret));
});

test('an encoder that tries again and again makes one event at once, and one with the count later', async (t) => {
  const { open, events, time } = setUp(t);
  const attempts = open();
  const refusal = { code: 'stream_key_in_use', reason: 'in use' } as const;
  for (let attempt = 0; attempt < 500; attempt += 1) {
    attempts.refused(ENCODER, stream, refusal);
    time.now += 10;
  }
  assert.equal(events.length, 1);
  await attempts[Symbol.asyncDispose]();
  assert.deepEqual(
    events.map(({ payload }) => 'count' in payload && payload.count),
    [1, 499],
  );
  assert.equal(attempts.recent[0]?.count, 500);
});

test('a flood from many addresses is bounded in memory, events and announcements', async (t) => {
  const { open, events, announced } = setUp(t);
  const attempts = open();
  const victim = newUserId();
  for (let host = 0; host < 5000; host += 1) {
    const remoteAddress = `10.0.${host >> 8}.${host & 255}`;
    attempts.wrongKey({ ...ENCODER, remoteAddress }, newStreamKey());
    const refusal = { code: 'stream_suspended', reason: 'suspended' } as const;
    attempts.refused({ ...ENCODER, remoteAddress }, someStream(victim), refusal);
  }
  await attempts[Symbol.asyncDispose]();
  assert.equal(attempts.recent.length, 1000);
  assert.ok(events.length <= 300, `${events.length} events`);
  assert.ok(announced.length <= 20, `${announced.length} announcements`);
});

test('neither strangers nor another user can suppress what a user is told about publishers', async (t) => {
  const { open, events } = setUp(t);
  const attempts = open();
  for (const { playbackId } of others) {
    attempts.wrongKey(ENCODER, new Secret(playbackId), 'address_invalid');
    await new Promise(setImmediate);
  }
  const end = { reason: 'connection_lost', connectedAt: ms(5), cause: undefined } as const;
  for (let count = 0; count < 400; count += 1) attempts.disconnected(ENCODER, someStream(user.id), end);
  const customers = Array.from({ length: 20 }, () => someStream(newUserId()));
  for (const customer of customers) {
    attempts.disconnected(ENCODER, customer, end);
    attempts.refused(ENCODER, customer, { code: 'stream_suspended', reason: 'suspended' });
    attempts.unplayable(ENCODER, customer, undefined);
  }
  const told = (type: NewStreamEvent['type'], streams: readonly { readonly id: string }[]) =>
    events.filter((event) => event.type === type && streams.some(({ id }) => id === event.streamId)).length;
  assert.equal(told('publish.refused', others), 300);
  assert.equal(told('publish.disconnected', customers), 20);
  assert.equal(told('publish.refused', customers), 40);
  assert.equal(events.length, 300 + 300 + 60);
});

test('repeats count towards the events that a user may cause in a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { open, events, time } = setUp(t);
  const attempts = open();
  const repeating = Array.from({ length: 300 }, () => someStream(user.id));
  const refuse = (streams: readonly Stream[]) => {
    for (const each of streams) attempts.refused(ENCODER, each, { code: 'stream_suspended', reason: 'suspended' });
  };
  const minutes = 3;
  for (let second = 0; second < minutes * 60; second += 1) {
    refuse(repeating);
    refuse(Array.from({ length: 10 }, () => someStream(user.id)));
    time.now += 1000;
    t.mock.timers.tick(1000);
  }
  assert.ok(events.length <= 300 * (minutes + 1), `${events.length} events`);
  assert.ok(events.length >= 300 * minutes, `${events.length} events`);
});

test('other nodes learn of an attempt, and an attempt is forgotten after a day', async (t) => {
  const { open, time } = setUp(t);
  const [here, there] = [open(), open()];
  here.throttled(ENCODER);
  assert.deepEqual(
    there.recent.map(({ reason, address, encoder }) => [reason, address, encoder]),
    [['too_many_attempts', '192.0.2.1', 'OBS']],
  );
  assert.equal(here.recent.length, 1);
  time.now += 25 * 3600 * 1000;
  assert.deepEqual([here.recent, there.recent], [[], []]);
});

test('an attempt that another process announces is ignored unless it is complete', () => {
  for (const text of ['', '{', 'null', '1', '{"reason":"toString"}', '{"reason":"key_unknown","at":1}', '[]']) {
    assert.equal(refusedPublishOf(text), undefined, text);
  }
});

test('the end of a publisher is reported with its reason and the code with which its connection ended', async (t) => {
  const { open, events } = setUp(t);
  const attempts = open();
  attempts.disconnected(ENCODER, stream, { reason: 'connection_lost', connectedAt: ms(5), cause: 'ECONNRESET' });
  attempts.unplayable(ENCODER, stream, 'Millrace supports H.264.');
  const [lost, unplayable] = events;
  assert.equal(lost?.type, 'publish.disconnected');
  assert.deepEqual(
    { ...lost?.payload, message: '' },
    {
      reason: 'connection_lost',
      message: '',
      protocol: 'rtmp',
      address: '192.0.2.1',
      encoder: 'OBS',
      count: 1,
      from: 1_000_000,
      until: 1_000_000,
      connectedAt: 5,
      cause: 'ECONNRESET',
    },
  );
  assert.equal(unplayable?.type === 'publish.refused' && unplayable.payload.message, 'Millrace supports H.264.');
});
