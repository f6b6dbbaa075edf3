import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { AttemptThrottle } from './attempt-throttle.ts';
import { ms } from './units.ts';

function throttleOf(perMinute: number) {
  const time = { ms: 0 };
  const clock = { now: () => ms(0), monotonic: () => ms(time.ms) };
  return { time, throttle: new AttemptThrottle({ perMinute, clock }) };
}

test('an address may fail as often as its allowance, and must then wait for one attempt to come back', () => {
  const { time, throttle } = throttleOf(6);
  for (let attempt = 0; attempt < 6; attempt += 1) {
    assert.equal(throttle.retryAfterS('192.0.2.1'), 0);
    throttle.failed('192.0.2.1');
  }
  assert.equal(throttle.retryAfterS('192.0.2.1'), 10);
  assert.equal(throttle.retryAfterS('192.0.2.2'), 0);
  time.ms += 9999;
  assert.equal(throttle.retryAfterS('192.0.2.1'), 1);
  time.ms += 1;
  assert.equal(throttle.retryAfterS('192.0.2.1'), 0);
  throttle.failed('192.0.2.1');
  assert.equal(throttle.retryAfterS('192.0.2.1'), 10);
});

test('an address without further failures gets its whole allowance back and no more', () => {
  const { time, throttle } = throttleOf(2);
  throttle.failed('192.0.2.1');
  throttle.failed('192.0.2.1');
  time.ms += 3_600_000;
  throttle.failed('192.0.2.1');
  assert.equal(throttle.retryAfterS('192.0.2.1'), 0);
  throttle.failed('192.0.2.1');
  assert.equal(throttle.retryAfterS('192.0.2.1'), 30);
});

test('failures while throttled do not make the wait longer', () => {
  const { throttle } = throttleOf(1);
  for (let attempt = 0; attempt < 100; attempt += 1) throttle.failed('192.0.2.1');
  assert.equal(throttle.retryAfterS('192.0.2.1'), 60);
});

test('one IPv6 /64 is one address, and so is IPv4 mapped into IPv6', () => {
  const { throttle } = throttleOf(1);
  throttle.failed('2001:db8:1:2:3:4:5:6');
  assert.equal(throttle.retryAfterS('2001:db8:1:2::9'), 60);
  assert.equal(throttle.retryAfterS('2001:db8:1:3::9'), 0);
  throttle.failed('::ffff:192.0.2.1');
  assert.equal(throttle.retryAfterS('192.0.2.1'), 60);
});

test('however many addresses guess, only the 10,000 that failed last are remembered', () => {
  const { throttle } = throttleOf(1);
  const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  for (let index = 0; index < 10_000; index += 1) throttle.failed(address(index));
  throttle.failed(address(0));
  throttle.failed(address(10_000));
  assert.equal(throttle.retryAfterS(address(0)), 60);
  assert.equal(throttle.retryAfterS(address(1)), 0);
  assert.equal(throttle.retryAfterS(address(2)), 60);
});

test('attempts at the same time look up no more secrets than may be wrong, and the rest is refused', async () => {
  const { throttle } = throttleOf(20);
  let looks = 0;
  const wrong = async () => {
    looks += 1;
    await turn();
    return undefined;
  };
  const outcomes = await Promise.all(Array.from({ length: 500 }, () => throttle.attempt('192.0.2.1', wrong)));
  assert.equal(looks, 20);
  assert.equal(outcomes.filter(({ waitS }) => waitS === 3).length, 480);
  assert.deepEqual(await throttle.attempt('192.0.2.2', async () => 'right'), { waitS: 0, found: 'right' });
});

test('any number of right secrets at the same time are all found, however few may be wrong', async () => {
  const { throttle } = throttleOf(2);
  throttle.failed('192.0.2.1');
  const right = async () => {
    await turn();
    return 'right';
  };
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => throttle.attempt('192.0.2.1', right)));
  assert.ok(outcomes.every(({ found }) => found === 'right'));
});

test('a lookup that throws is no failed attempt, and those that wait for it throw, too, instead of one after another', async () => {
  const { throttle } = throttleOf(1);
  let looks = 0;
  const away = async () => {
    looks += 1;
    await turn();
    throw new Error('away');
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => throttle.attempt('192.0.2.1', away)));
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  assert.equal(looks, 1);
  assert.deepEqual(await throttle.attempt('192.0.2.1', async () => 'right'), { waitS: 0, found: 'right' });
});
