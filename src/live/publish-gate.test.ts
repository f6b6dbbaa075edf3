import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newUserId, type StreamId, type UserId } from '#domain/ids.ts';
import type { Quotas } from '#domain/quotas.ts';
import { newStreamKey, type Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { Publication, PublishRequest } from '#ingest/ingest.ts';
import { AttemptThrottle } from '#lib/attempt-throttle.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { createMetrics } from '#telemetry/metrics.ts';
import { someQuotas, someStream, someUser } from '#test/support/sample-records.ts';
import { createPublishGate } from './publish-gate.ts';
import type { SessionRegistry } from './session-registry.ts';

const stream = someStream(newUserId());

/** A gate over a store that knows one stream. */
function setUp(
  find: (key: Secret) => Promise<Stream | undefined> = async (key) =>
    key.equals(stream.streamKey) ? stream : undefined,
  suspendedOwner = false,
) {
  const metrics = createMetrics();
  const accepted: StreamId[] = [];
  const quotas: Quotas[] = [];
  const gate = createPublishGate({
    store: {
      streams: { byStreamKey: find },
      users: { get: async (id: UserId) => someUser({ id, suspended: suspendedOwner, quotas: { publishers: 7 } }) },
    } as unknown as Store,
    registry: {
      publish: (_stream: Stream, _request: PublishRequest, given: Quotas) => {
        quotas.push(given);
        return { accepted: true, publication: {} as Publication };
      },
    } as unknown as SessionRegistry,
    quotas: someQuotas({ publishers: 3, viewers: 4 }),
    throttle: new AttemptThrottle({ perMinute: 3, clock: { now: () => ms(0), monotonic: () => ms(0) } }),
    metrics,
    claims: undefined,
    onAccepted: ({ id }) => void accepted.push(id),
  });
  const publish = async (
    streamKey: Secret,
    { remoteAddress = '192.0.2.1', signal = new AbortController().signal } = {},
  ) => {
    const request = { streamKey, protocol: 'rtmp', remoteAddress, encoder: undefined, cut: () => {} };
    const decision = await gate.publish(request, { signal });
    return decision.accepted ? 'accepted' : decision.refusal.code;
  };
  return { publish, metrics, accepted, quotas };
}

test('the right key may publish, a wrong one may not', async () => {
  const { publish, metrics, accepted } = setUp();
  assert.equal(await publish(stream.streamKey), 'accepted');
  assert.equal(await publish(newStreamKey()), 'stream_key_invalid');
  assert.deepEqual(accepted, [stream.id]);
  assert.match(await metrics.registry.metrics(), /millrace_publish_refusals_total\{code="stream_key_invalid"\} 1/);
});

test("the quotas of the stream's user hold, and the defaults hold for those that the user has not", async () => {
  const { publish, quotas } = setUp();
  await publish(stream.streamKey);
  assert.deepEqual([quotas[0]?.publishers, quotas[0]?.viewers], [7, 4]);
});

test('guessing is slowed down for the address that guesses, and for no other', async () => {
  const { publish } = setUp();
  for (let guess = 0; guess < 3; guess++) assert.equal(await publish(newStreamKey()), 'stream_key_invalid');
  assert.equal(await publish(newStreamKey()), 'too_many_attempts');
  assert.equal(
    await publish(stream.streamKey),
    'too_many_attempts',
    'or a right guess would show among the wrong ones',
  );
  assert.equal(await publish(stream.streamKey, { remoteAddress: '192.0.2.2' }), 'accepted');
});

test('a suspended stream is refused', async () => {
  const { publish } = setUp(async () => ({ ...stream, suspended: true }));
  assert.equal(await publish(stream.streamKey), 'stream_suspended');
});

test('so is every stream of a suspended user', async () => {
  const { publish } = setUp(async () => stream, true);
  assert.equal(await publish(stream.streamKey), 'stream_suspended');
});

test('a store that is away refuses and counts as no guess', async () => {
  const { publish } = setUp(() => Promise.reject(new MillraceError('store_unavailable', 'The store is away.')));
  for (let attempt = 0; attempt < 5; attempt++) assert.equal(await publish(stream.streamKey), 'service_unavailable');
});

test('an answer that comes after the publisher stopped waiting accepts nobody', async () => {
  const controller = new AbortController();
  const { publish } = setUp(async () => {
    controller.abort();
    return stream;
  });
  assert.equal(await publish(stream.streamKey, { signal: controller.signal }), 'service_unavailable');
});
