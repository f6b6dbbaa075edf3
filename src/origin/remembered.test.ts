import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ms } from '#lib/units.ts';
import { Remembered } from './remembered.ts';

/** Answers are kept for 1000 ms and arrive when the test says so. The test controls the clock. */
function setUp() {
  const world = { now: 0, asked: 0, answer: Promise.resolve('first') };
  const remembered = new Remembered<string, string>({
    ask: () => {
      world.asked += 1;
      return world.answer;
    },
    keptForMs: () => 1000,
    clock: { now: () => ms(world.now), monotonic: () => ms(world.now) },
  });
  return { world, remembered };
}

test('an answer is requested once, and again when it is old or has been expired', async () => {
  const { world, remembered } = setUp();
  await Promise.all([remembered.get('a'), remembered.get('a')]);
  world.now = 999;
  assert.equal(await remembered.get('a'), 'first');
  assert.equal(world.asked, 1);
  world.now = 1000;
  await remembered.get('a');
  remembered.expire('a');
  await remembered.get('a');
  assert.equal(world.asked, 3);
});

test('a source that does not answer does not delay callers with an older answer, and gets one request at a time', async () => {
  const { world, remembered } = setUp();
  await remembered.get('a');
  const stuck = Promise.withResolvers<string>();
  world.answer = stuck.promise;
  world.now = 1000;
  const waiting = remembered.get('a');
  world.now = 1250;
  assert.equal(await remembered.get('a'), 'first', 'at once');
  assert.equal(await waiting, 'first', 'a little later');
  assert.equal(world.asked, 2);
  stuck.resolve('second');
  await stuck.promise;
  assert.equal(await remembered.get('a'), 'second');
});

test('when a request fails, the older answer is valid for as long as a new one, and without one the call rejects', async () => {
  const { world, remembered } = setUp();
  await remembered.get('a');
  const failing = () => {
    const away = Promise.reject(new Error('away'));
    away.catch(() => {});
    return away;
  };
  world.answer = failing();
  world.now = 1000;
  assert.equal(await remembered.get('a'), 'first');
  world.now = 1999;
  assert.equal(await remembered.get('a'), 'first');
  assert.equal(world.asked, 2);
  await assert.rejects(remembered.get('b'), /away/);
  world.answer = Promise.resolve('there');
  assert.equal(await remembered.get('b'), 'there');
});

test('the oldest of more than ten thousand is forgotten', async () => {
  const { world, remembered } = setUp();
  for (let key = 0; key <= 10_000; key += 1) await remembered.get(String(key));
  await remembered.get('10000');
  await remembered.get('1');
  assert.equal(world.asked, 10_001);
  await remembered.get('0');
  assert.equal(world.asked, 10_002);
});
