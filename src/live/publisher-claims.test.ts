import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import { newNodeId, newStreamId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { PublisherClaims } from './publisher-claims.ts';

const stream = newStreamId();

/** Claims on a store whose calls the test answers one by one. */
function setUp() {
  const calls: { readonly call: string; readonly answer: (answer: boolean | Error) => void }[] = [];
  const called = (call: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    calls.push({ call, answer: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)) });
    return promise;
  };
  const lost: string[] = [];
  const claims = new PublisherClaims({
    store: { publishers: { claim: () => called('claim'), release: () => called('release') } } as unknown as Store,
    nodeId: newNodeId(),
    logger: silentLogger,
    onLost: (id) => lost.push(id),
  });
  return { claims, calls, lost };
}

const away = new MillraceError('store_unavailable', 'The store is down.');
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a stream is held once it was claimed, and not when another node has it', async () => {
  for (const isFree of [true, false]) {
    const { claims, calls } = setUp();
    const claimed = claims.claim(stream);
    await turn();
    calls[0]!.answer(isFree);
    assert.equal(await claimed, isFree);
    assert.equal(claims.holds(stream), isFree);
  }
});

test('a publisher that comes back at once is not released by the release of the previous one', async () => {
  const { claims, calls } = setUp();
  claims.release(stream);
  const claimed = claims.claim(stream);
  await turn();
  assert.deepEqual(
    calls.map(({ call }) => call),
    ['release'],
    'the claim waits for the release',
  );
  calls[0]!.answer(true);
  await turn();
  calls[1]!.answer(true);
  assert.equal(await claimed, true);
  assert.equal(calls.length, 2);
});

test('a release that failed is tried again, unless the stream was claimed in the meantime', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { claims, calls } = setUp();
  claims.release(stream);
  calls[0]!.answer(away);
  await turn();
  t.mock.timers.tick(1000);
  await turn();
  assert.equal(calls[1]?.call, 'release');
  calls[1]!.answer(away);
  await turn();
  const claimed = claims.claim(stream);
  t.mock.timers.tick(1000);
  await turn();
  assert.equal(calls[2]?.call, 'claim');
  calls[2]!.answer(true);
  assert.equal(await claimed, true);
});

test('a claim that the store did not answer is released, because it may have happened', async () => {
  const { claims, calls } = setUp();
  const claimed = claims.claim(stream);
  await turn();
  calls[0]!.answer(away);
  await assert.rejects(claimed, { code: 'store_unavailable' });
  assert.equal(calls[1]?.call, 'release');
  assert.equal(claims.holds(stream), false);
});

test('a stream that another node has claimed is lost, and an outage of the store loses none', async () => {
  const { claims, calls, lost } = setUp();
  void claims.confirm(stream);
  await turn();
  assert.equal(claims.mustConfirm(stream), false, 'it is being confirmed');
  calls[0]!.answer(away);
  await turn();
  assert.deepEqual(lost, []);
  assert.deepEqual([claims.holds(stream), claims.mustConfirm(stream)], [true, true], 'it is tried again');
  void claims.confirm(stream);
  await turn();
  calls[1]!.answer(false);
  await turn();
  assert.deepEqual(lost, [stream]);
  assert.equal(claims.holds(stream), false);
});

test('a stream whose publisher leaves before it is claimed again is not claimed', async () => {
  const { claims, calls } = setUp();
  claims.release(stream);
  void claims.confirm(stream);
  claims.release(stream);
  calls[0]!.answer(true);
  await turn();
  assert.equal(calls.length, 1);
  assert.equal(claims.holds(stream), false);
});

for (const answer of [true, away]) {
  for (const isReleaseFirst of [true, false]) {
    const when = `${isReleaseFirst ? 'after' : 'before'} the release`;
    const what = answer === true ? 'succeeds' : 'is not answered';
    test(`a stream whose publisher leaves while it is claimed again is released, also when the claim ${what} ${when}`, async () => {
      const { claims, calls, lost } = setUp();
      void claims.confirm(stream);
      await turn();
      claims.release(stream);
      await turn();
      const release = () => calls.filter(({ call }) => call === 'release');
      if (isReleaseFirst) release()[0]!.answer(true);
      await turn();
      calls[0]!.answer(answer);
      await turn();
      release()[0]!.answer(true);
      await turn();
      assert.equal(release().length, 2, 'the first one may have come before the claim');
      release()[1]!.answer(true);
      await turn();
      assert.deepEqual([calls.length, claims.holds(stream), lost], [3, false, []]);
    });
  }
}

test('a publisher that comes back while its stream is claimed again keeps it', async () => {
  const { claims, calls } = setUp();
  void claims.confirm(stream);
  await turn();
  claims.release(stream);
  const claimed = claims.claim(stream);
  calls[1]!.answer(true);
  await turn();
  for (const { answer } of [calls[0]!, calls[2]!]) answer(true);
  assert.equal(await claimed, true);
  await turn();
  assert.equal(calls.length, 3);
});

test('disposing waits for releases in progress, and stops waiting for a store that does not answer', async () => {
  const { claims, calls } = setUp();
  claims.release(stream);
  const disposed = claims[Symbol.asyncDispose]();
  calls[0]!.answer(away);
  await disposed;
  assert.equal(calls.length, 1);
});
