import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newStreamId, newUserId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { SourceTrust } from './source-trust.ts';
import type { Transcoder } from './transcoder.ts';
import { type TranscodeRequest, TranscoderPool } from './transcoder-pool.ts';

const started = () => assert.fail('no worker is started');
const forkServer = { start: started, kill: started, limitMemory: started };

/** A pool with a clock that the test controls. Its transcoders start no worker before they get a track. */
function setUp(maxTranscodes: number, isAvailable = true) {
  let now = 1_000_000;
  const settings = { preset: 'veryfast', threads: 1, maxTranscodes, memoryMib: 768 } as const;
  const pool = new TranscoderPool({
    settings,
    clock: { now: () => ms(now), monotonic: () => ms(now) },
    forkServer,
    isAvailable,
  });
  const nothing = () => {};
  const callbacks = {
    onTrack: nothing,
    onPacket: nothing,
    onMissing: nothing,
    onAudioTrack: nothing,
    onAudioPacket: nothing,
    onPicture: nothing,
    onWarning: nothing,
    onRestart: nothing,
  };
  const open = (change: Partial<TranscodeRequest> = {}) =>
    pool.open({
      userId: newUserId(),
      streamId: newStreamId(),
      lastedMs: 1000,
      profiles: [],
      callbacks,
      trust: new SourceTrust(),
      onRevoked: nothing,
      logger: silentLogger,
      ...change,
    });
  return {
    pool,
    open,
    passes: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

function assertOpened(answer: ReturnType<TranscoderPool['open']>): asserts answer is Transcoder {
  if (typeof answer === 'string') assert.fail(answer);
}

it('hands out transcoders up to the limit, and another when one is disposed', async () => {
  const { pool, open } = setUp(2);
  const first = open();
  assertOpened(first);
  assertOpened(open());
  assert.equal(open(), 'limit');
  await Promise.all([first[Symbol.asyncDispose](), first[Symbol.asyncDispose]()]);
  assert.equal(pool.count, 1);
  assertOpened(open());
  assert.equal(open(), 'limit');
  assert.equal(setUp(0).open(), 'limit');
});

it('without FFmpeg no session gets a transcoder', () => {
  assert.equal(setUp(2, false).open(), 'unavailable');
});

it('media that has not lasted a second gets no transcoder, takes no place and uses up no start', () => {
  const { pool, open } = setUp(2);
  const owner = { userId: newUserId(), streamId: newStreamId() };
  for (let count = 0; count < 100; count += 1) assert.equal(open({ ...owner, lastedMs: 999 }), 'later');
  assert.equal(pool.count, 0);
  assertOpened(open(owner));
});

it('a user has as many transcoders at the same time as its quota allows', async () => {
  const { open } = setUp(32);
  const userId = newUserId();
  const first = open({ userId, atMost: 2 });
  assertOpened(first);
  assertOpened(open({ userId, atMost: 2 }));
  assert.equal(open({ userId, atMost: 2 }), 'quota');
  assertOpened(open({ atMost: 2 }));
});

it('a stream starts at most every five seconds, and other streams need not wait', async () => {
  const { open, passes } = setUp(32);
  const owner = { userId: newUserId(), streamId: newStreamId() };
  const first = open(owner);
  assertOpened(first);
  await first[Symbol.asyncDispose]();
  passes(4999);
  assert.equal(open(owner), 'later');
  assertOpened(open());
  passes(1);
  assertOpened(open(owner));
});

it('a user that starts and stops gets as many starts at once as its quota, then one every two seconds', async () => {
  const { open, passes } = setUp(32);
  const userId = newUserId();
  let started = 0;
  for (let tick = 0; tick < 600; tick += 1) {
    const answer = open({ userId, atMost: 4 });
    if (answer !== 'later') {
      assertOpened(answer);
      started += 1;
      await answer[Symbol.asyncDispose]();
    }
    passes(100);
  }
  assert.ok(started <= 4 + 60 / 2, `${started} in a minute`);
  assert.ok(started >= 60 / 2, `${started} in a minute`);
});

it('a user that holds every place loses them, the newest first, until others have their share', () => {
  const { pool, open } = setUp(32);
  const userId = newUserId();
  const revoked: number[] = [];
  for (let place = 0; place < 32; place += 1) {
    assertOpened(open({ userId, onRevoked: () => void revoked.push(place) }));
  }
  assert.equal(open({ userId }), 'limit', 'it competes only with itself');
  const other = newUserId();
  for (let place = 0; place < 16; place += 1) assertOpened(open({ userId: other }));
  assert.deepEqual(
    revoked,
    Array.from({ length: 16 }, (_, index) => 31 - index),
  );
  assert.equal(open({ userId: other }), 'limit');
  assert.equal(open({ userId }), 'limit');
  assertOpened(open());
  assert.equal(pool.count, 32);
});

it('a place that was revoked is not released a second time when its transcoder is disposed', async () => {
  const { pool, open } = setUp(2);
  const userId = newUserId();
  assertOpened(open({ userId }));
  const newest = open({ userId });
  assertOpened(newest);
  assertOpened(open());
  await newest[Symbol.asyncDispose]();
  assert.equal(pool.count, 2);
});
