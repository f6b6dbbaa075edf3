import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newUserId, type StreamId, type UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import { newStreamKey, type Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import { type Publication, type PublishRequest, REFUSAL_CODES, type Refusal } from '#ingest/ingest.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { networkOf } from '#lib/network-of.ts';
import { ms } from '#lib/units.ts';
import type { Packet } from '#media/packet.ts';
import type { TrackId } from '#media/track.ts';
import type { Store } from '#store/store.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { someQuotas, someStream, someUser } from '#test/support/sample-records.ts';
import { createPublishGate } from './publish-gate.ts';
import type { PublisherClaims } from './publisher-claims.ts';
import type { SessionRegistry } from './session-registry.ts';

const stream = someStream(newUserId());

/** A gate over a store with one stream. */
function setUp(
  find: (key: Secret, stranger?: string) => Promise<Stream | undefined> = async (key) =>
    key.equals(stream.streamKey) ? stream : undefined,
  suspendedOwner = false,
  limits: Partial<Quotas> = {},
  claim?: () => Promise<boolean>,
) {
  const metrics = createMetrics();
  const accepted: StreamId[] = [];
  const quotas: Quotas[] = [];
  const disconnects: PublishRequest['disconnect'][] = [];
  const publications: Publication[] = [];
  const refusal: { now: Refusal | undefined } = { now: undefined };
  const time = { ms: 0 };
  const clock = { now: () => ms(0), monotonic: () => ms(time.ms) };
  const noted: string[] = [];
  const gate = createPublishGate({
    store: {
      streams: { byStreamKey: find },
      users: {
        get: async (id: UserId) => someUser({ id, suspended: suspendedOwner, quotas: { publishers: 7, ...limits } }),
      },
    } as unknown as Store,
    registry: {
      publishers: { has: () => true },
      refusalOf: () => refusal.now,
      publish: (_stream: Stream, { disconnect }: PublishRequest, given: Quotas) => {
        quotas.push(given);
        disconnects.push(disconnect);
        return { accepted: true, publication: { end: () => {}, packet: () => {} } as unknown as Publication };
      },
    } as unknown as SessionRegistry,
    quotas: someQuotas({ publishers: 3, viewers: 4 }),
    maxPublishers: 9,
    clock,
    throttle: new AttemptThrottle({ perMinute: 3, clock }),
    metrics,
    attempts: {
      wrongKey: (_encoder, _text, right) => void noted.push(right ?? 'wrong key'),
      throttled: () => void noted.push('throttled'),
      refused: (_encoder, _stream, { code }, isUserSuspended) => void noted.push(isUserSuspended ? 'user' : code),
      unplayable: (_encoder, _stream, message) => void noted.push(`unplayable: ${message}`),
      disconnected: (_encoder, _stream, { reason, cause }) => void noted.push(`${reason} ${cause}`),
    },
    claims: claim && ({ claim, release: () => {} } as unknown as PublisherClaims),
    onArriving: () => {},
    onAccepted: ({ id }) => void accepted.push(id),
  });
  const publish = async (
    streamKey: Secret,
    { remoteAddress = '192.0.2.1', signal = new AbortController().signal } = {},
  ) => {
    const request = { streamKey, protocol: 'rtmp', remoteAddress, encoder: undefined, disconnect: () => {} };
    const decision = await gate.publish(request, { signal });
    if (decision.accepted) publications.push(decision.publication);
    return decision.accepted ? 'accepted' : decision.refusal.code;
  };
  return { gate, publish, metrics, accepted, quotas, refusal, time, noted, disconnects, publications };
}

test('the right key may publish, a wrong one may not', async () => {
  const { publish, metrics, accepted } = setUp();
  assert.equal(await publish(stream.streamKey), 'accepted');
  assert.equal(await publish(newStreamKey()), 'stream_key_invalid');
  assert.deepEqual(accepted, [stream.id]);
  assert.match(await metrics.registry.metrics(), /millrace_publish_refusals_total\{code="stream_key_invalid"\} 1/);
});

test('every reason for a refusal is counted from 0, so that the first refusal is an increase', async () => {
  const text = await setUp().metrics.registry.metrics();
  for (const code of REFUSAL_CODES) assert.match(text, new RegExp(`publish_refusals_total\\{code="${code}"\\} 0`));
});

test('the lookups of encoders take turns by their networks, apart from those of viewers at the same address', async () => {
  const strangers: (string | undefined)[] = [];
  const { publish } = setUp(async (_key, stranger) => void strangers.push(stranger));
  for (const remoteAddress of ['2001:db8::1', '2001:db8::2', '192.0.2.1'])
    await publish(newStreamKey(), { remoteAddress });
  const networks = strangers.map((stranger) => networkOf(stranger!));
  assert.equal(networks[0], networks[1]);
  assert.equal(new Set([...networks, networkOf('192.0.2.1')]).size, 3);
});

test("the quotas of the stream's user apply, and the defaults apply where the user has none", async () => {
  const { publish, quotas } = setUp();
  await publish(stream.streamKey);
  assert.deepEqual([quotas[0]?.publishers, quotas[0]?.viewers], [7, 4]);
});

test('guessing is throttled for the address that guesses, and for no other', async () => {
  const { publish } = setUp();
  for (let guess = 0; guess < 3; guess++) assert.equal(await publish(newStreamKey()), 'stream_key_invalid');
  assert.equal(await publish(newStreamKey()), 'too_many_attempts');
  assert.equal(
    await publish(stream.streamKey),
    'too_many_attempts',
    'otherwise a right guess would be recognised among the wrong ones',
  );
  assert.equal(await publish(stream.streamKey, { remoteAddress: '192.0.2.2' }), 'accepted');
});

test('the publishers of a user may begin as often per minute as its quota allows, or all at once if it may have more publishers', async () => {
  for (const [limits, atOnce] of [
    [{ publishesPerMinute: 6, publishers: 2 }, 6],
    [{ publishesPerMinute: 6, publishers: 8 }, 8],
    [{ publishesPerMinute: 6, publishers: 0 }, 9],
  ] as const) {
    const { publish, time, accepted } = setUp(undefined, false, limits);
    for (let count = 0; count < atOnce; count += 1) assert.equal(await publish(stream.streamKey), 'accepted');
    assert.equal(await publish(stream.streamKey), 'quota_exceeded');
    assert.equal(accepted.length, atOnce);
    time.ms += 10_000;
    assert.equal(await publish(stream.streamKey), 'accepted');
    assert.equal(await publish(stream.streamKey), 'quota_exceeded');
  }
});

test('a publisher that is refused for another reason is not counted, and 0 means no limit', async () => {
  const { publish, refusal } = setUp(undefined, false, { publishesPerMinute: 1, publishers: 1 });
  refusal.now = { code: 'stream_key_in_use', reason: '' };
  for (let count = 0; count < 5; count += 1) assert.equal(await publish(stream.streamKey), 'stream_key_in_use');
  refusal.now = undefined;
  assert.equal(await publish(stream.streamKey), 'accepted');
  assert.equal(await publish(stream.streamKey), 'quota_exceeded');
  const unlimited = setUp(undefined, false, { publishesPerMinute: 0 });
  for (let count = 0; count < 50; count += 1) assert.equal(await unlimited.publish(stream.streamKey), 'accepted');
});

test('a publisher that is refused because another node has one for its stream, or the store is away, is not counted', async () => {
  let answer: () => Promise<boolean> = async () => false;
  const { publish } = setUp(undefined, false, { publishesPerMinute: 1, publishers: 1 }, () => answer());
  for (let count = 0; count < 5; count += 1) assert.equal(await publish(stream.streamKey), 'stream_key_in_use');
  answer = () => Promise.reject(new MillraceError('store_unavailable', 'The store is down.'));
  for (let count = 0; count < 5; count += 1) assert.equal(await publish(stream.streamKey), 'service_unavailable');
  answer = async () => true;
  assert.equal(await publish(stream.streamKey), 'accepted');
  assert.equal(await publish(stream.streamKey), 'quota_exceeded');
});

test('a suspended stream is refused', async () => {
  const { publish } = setUp(async () => ({ ...stream, suspended: true }));
  assert.equal(await publish(stream.streamKey), 'stream_suspended');
});

test('every stream of a suspended user is refused', async () => {
  const { publish } = setUp(async () => stream, true);
  assert.equal(await publish(stream.streamKey), 'stream_suspended');
});

test('an outage of the store causes a refusal that does not count as a guess', async () => {
  const { publish } = setUp(() => Promise.reject(new MillraceError('store_unavailable', 'The store is down.')));
  for (let attempt = 0; attempt < 5; attempt++) assert.equal(await publish(stream.streamKey), 'service_unavailable');
});

test('an answer that comes after the publisher stopped waiting is ignored', async () => {
  const controller = new AbortController();
  const { publish } = setUp(async () => {
    controller.abort();
    return stream;
  });
  assert.equal(await publish(stream.streamKey, { signal: controller.signal }), 'service_unavailable');
});

test('every refusal is noted for the owner of the stream, and so is a publisher that is lost', async () => {
  const { gate, publish, refusal, noted, publications, disconnects } = setUp();
  await publish(newStreamKey());
  refusal.now = { code: 'stream_key_in_use', reason: '' };
  await publish(stream.streamKey);
  refusal.now = undefined;
  const encoder = { protocol: 'rtmp', remoteAddress: '192.0.2.1', encoder: undefined };
  gate.addressInvalid({ ...encoder, text: newStreamKey() });
  assert.deepEqual(noted.splice(0), ['wrong key', 'stream_key_in_use', 'address_invalid']);

  const accept = async (hasMedia = true): Promise<Publication> => {
    assert.equal(await publish(stream.streamKey), 'accepted');
    const publication = publications.at(-1)!;
    if (hasMedia) publication.packet({} as Packet, 'video' as TrackId);
    return publication;
  };
  (await accept()).end('unpublished');
  (await accept()).end('connection_lost', { code: 'ECONNRESET' });
  (await accept(false)).end('unpublished');
  (await accept()).end('connection_lost', { code: 'server_stopping' });
  (await accept()).end('connection_lost', { code: 'unplayable_media', message: 'no VP8' });
  const disconnected = await accept();
  disconnects.at(-1)!({ code: 'stream_key_rotated', reason: '' });
  disconnected.end('disconnected');
  disconnected.end('disconnected');
  assert.deepEqual(noted, [
    'connection_lost ECONNRESET',
    'no_media undefined',
    'server_stopping server_stopping',
    'unplayable: no VP8',
    'stream_key_rotated undefined',
  ]);
});

test('a suspended user and a throttled address are noted as such', async () => {
  const { publish, noted } = setUp(async (key) => (key.equals(stream.streamKey) ? stream : undefined), true);
  await publish(stream.streamKey);
  for (let guess = 0; guess < 4; guess++) await publish(newStreamKey());
  assert.deepEqual(noted, ['user', 'wrong key', 'wrong key', 'wrong key', 'throttled']);
});
