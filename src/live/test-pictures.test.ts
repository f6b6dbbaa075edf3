import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newUserId } from '#domain/ids.ts';
import type { Publication, PublishDecision, PublishRequest, Refusal } from '#ingest/ingest.ts';
import { ms } from '#lib/units.ts';
import type { StoreAnnouncement } from '#store/announcement.ts';
import { isMillraceError } from '#store/contract/suite.contract.ts';
import { someStream } from '#test/support/sample-records.ts';
import type { TestPictureTarget } from '#transcode/test-picture.ts';
import { TestPictures, type TestPicturesOptions } from './test-pictures.ts';

/** Test pictures over a gate that accepts everything unless told otherwise, and processes that draw nothing. */
function setUp(t: TestContext, options: Partial<TestPicturesOptions> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const requests: PublishRequest[] = [];
  const ends: string[] = [];
  const drawn: { readonly target: TestPictureTarget; isRunning: boolean }[] = [];
  const listeners = new Set<(announcement: StoreAnnouncement) => void>();
  const time = { ms: 0 };
  const refusal: { now: Refusal | undefined } = { now: undefined };
  const pictures = new TestPictures({
    gate: {
      publish: async (request): Promise<PublishDecision> => {
        requests.push(request);
        if (refusal.now !== undefined) return { accepted: false, refusal: refusal.now };
        const publication = { announce: () => {}, end: (reason: string) => void ends.push(reason) };
        return { accepted: true, publication: publication as unknown as Publication };
      },
    },
    store: {
      listen: (listener) => {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
      announce: async (announcement) => {
        for (const listener of listeners) listener(announcement);
      },
    },
    clock: { now: () => ms(1000 + time.ms), monotonic: () => ms(time.ms) },
    draw: (target) => {
      const drawing = { target, isRunning: true };
      drawn.push(drawing);
      return {
        async [Symbol.asyncDispose]() {
          drawing.isRunning = false;
        },
      };
    },
    ...options,
  });
  t.after(() => pictures[Symbol.asyncDispose]());
  const running = () => drawn.filter(({ isRunning }) => isRunning).length;
  const pass = (passedMs: number) => {
    time.ms += passedMs;
    t.mock.timers.tick(passedMs);
  };
  return { pictures, requests, ends, drawn, running, refusal, listeners, pass };
}

const stream = someStream(newUserId());

test('a test picture is published through the gate for a minute, and a second start extends it', async (t) => {
  const { pictures, requests, ends, running, pass } = setUp(t);
  assert.equal(await pictures.start(stream), 61_000);
  assert.deepEqual([requests[0]?.encoder, requests[0]?.protocol], ['Millrace test picture', 'test']);
  pass(59_000);
  assert.equal(await pictures.start(stream), 120_000);
  pass(59_000);
  assert.deepEqual([requests.length, running(), ends.length], [1, 1, 0]);
  pass(1000);
  assert.deepEqual([running(), ends], [0, ['unpublished']]);
});

test('a test picture ends after ten minutes however often it is extended, and may then begin again', async (t) => {
  const { pictures, requests, running, pass } = setUp(t);
  let until = await pictures.start(stream);
  for (let minute = 0.5; minute < 10; minute += 0.5) {
    pass(30_000);
    until = await pictures.start(stream);
  }
  assert.deepEqual([until, requests.length, running()], [601_000, 1, 1]);
  pass(30_000);
  assert.equal(running(), 0);
  assert.equal(await pictures.start(stream), 661_000);
  assert.equal(requests.length, 2);
});

test('a user has one test picture at a time, so that no user takes those of others', async (t) => {
  const { pictures, refusal, running } = setUp(t);
  const second = someStream(stream.userId);
  const both = await Promise.allSettled([pictures.start(stream), pictures.start(second)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  await assert.rejects(pictures.start(second), isMillraceError('conflict'));
  await pictures.start(someStream(newUserId()));
  assert.equal(running(), 2);
  await pictures.stop(stream.id);
  refusal.now = { code: 'stream_suspended', reason: 'a reason' };
  await assert.rejects(pictures.start(second), isMillraceError('conflict'));
  refusal.now = undefined;
  await pictures.start(second);
  assert.equal(running(), 2);
});

test('a test picture stops when this or another node is asked to stop it, when it is disconnected, and when its process ends', async (t) => {
  const { pictures, requests, drawn, running, listeners } = setUp(t);
  await pictures.start(stream);
  await pictures.stop(stream.id);
  assert.equal(running(), 0);
  await pictures.start(stream);
  for (const listener of listeners) listener({ type: 'test_picture_stopped', streamId: stream.id });
  assert.equal(running(), 0);
  await pictures.start(stream);
  for (const listener of listeners) listener({ type: 'missed' });
  assert.equal(running(), 0, 'a request to stop it may have been missed');
  await pictures.start(stream);
  requests.at(-1)?.disconnect({ code: 'terminated', reason: '' });
  await new Promise(setImmediate);
  assert.equal(running(), 0);
  await pictures.start(stream);
  drawn.at(-1)?.target.end();
  assert.equal(running(), 0);
  await pictures.start(stream);
  await pictures[Symbol.asyncDispose]();
  assert.equal(running(), 0);
  await assert.rejects(pictures.start(stream), isMillraceError('test_picture_unavailable'));
});

test('a test picture that waits for the gate is stopped by everything that stops a running one', async (t) => {
  for (const stop of [
    ({ pictures }) => void pictures.stop(stream.id),
    ({ listeners }) => {
      for (const listener of listeners) listener({ type: 'missed' });
    },
    ({ pictures }) => void pictures[Symbol.asyncDispose](),
  ] satisfies ((world: ReturnType<typeof setUp>) => void)[]) {
    const world = setUp(t);
    const starting = world.pictures.start(stream);
    stop(world);
    await assert.rejects(starting, isMillraceError('conflict'));
    assert.deepEqual([world.running(), world.ends], [0, ['unpublished']]);
    t.mock.timers.reset();
  }
});

test('a test picture is refused without FFmpeg, while an encoder publishes, and when there are too many', async (t) => {
  const none = setUp(t, { draw: undefined });
  await assert.rejects(none.pictures.start(stream), isMillraceError('test_picture_unavailable'));
  t.mock.timers.reset();
  const { pictures, refusal, running } = setUp(t);
  for (const [code, error] of [
    ['stream_key_in_use', 'conflict'],
    ['stream_suspended', 'conflict'],
    ['quota_exceeded', 'quota_exceeded'],
    ['service_unavailable', 'test_picture_unavailable'],
  ] as const) {
    refusal.now = { code, reason: 'a reason' };
    await assert.rejects(pictures.start(stream), isMillraceError(error), code);
  }
  refusal.now = undefined;
  const streams = Array.from({ length: 5 }, () => someStream(newUserId()));
  const results = await Promise.allSettled(streams.map((each) => pictures.start(each)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  );
  assert.equal(running(), 4);
});
