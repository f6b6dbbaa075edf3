import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { QuotaBuckets, TokenBuckets } from './token-buckets.ts';
import { ms } from './units.ts';

function buckets(perMinute: number) {
  const time = { ms: 5000 };
  const clock = { now: () => ms(0), monotonic: () => ms(time.ms) };
  return { time, buckets: new TokenBuckets({ perMinute, clock }) };
}

test('a whole allowance may be used at once, and comes back evenly', () => {
  const { time, buckets: each } = buckets(120);
  for (let left = 119; left >= 0; left -= 1) assert.equal(each.take('ann').remaining, left);
  assert.deepEqual(each.take('ann'), { allowed: false, remaining: 0, fullAfterS: 60, retryAfterS: 1 });
  time.ms += 499;
  assert.equal(each.take('ann').allowed, false, 'asking too early does not delay what comes back');
  time.ms += 1;
  assert.equal(each.take('ann').allowed, true);
  time.ms += 30_000;
  assert.deepEqual(each.take('ann'), { allowed: true, remaining: 59, fullAfterS: 31, retryAfterS: 0 });
});

test('fewer may be allowed at once than are allowed in a minute', () => {
  const time = { ms: 0 };
  const clock = { now: () => ms(0), monotonic: () => ms(time.ms) };
  const each = new TokenBuckets({ perMinute: 600, atOnce: 2, clock });
  const allowed = () => [1, 2, 3].map(() => each.take('ann').allowed);
  assert.deepEqual(allowed(), [true, true, false]);
  time.ms += 60_000;
  assert.deepEqual(allowed(), [true, true, false]);
  time.ms += 100;
  assert.equal(each.take('ann').allowed, true);
});

test('a token that is given back may be taken again, and a bucket never holds more than its size', () => {
  const each = new QuotaBuckets({ now: () => ms(0), monotonic: () => ms(0) });
  const size = { perMinute: 2 };
  const take = () => each.take('ann', size).allowed;
  each.giveBack('ann');
  assert.deepEqual([take(), take(), take()], [true, true, false]);
  for (let count = 0; count < 3; count += 1) each.giveBack('ann');
  assert.deepEqual([take(), take(), take()], [true, true, false]);
});

test('more may be spent than there is, and then nothing is allowed until that much has come back', () => {
  const { time, buckets: each } = buckets(60);
  assert.deepEqual(each.spend('ann', 10), { allowed: true, remaining: 50, fullAfterS: 10, retryAfterS: 0 });
  assert.deepEqual(each.spend('ann', 60), { allowed: true, remaining: 0, fullAfterS: 70, retryAfterS: 11 });
  time.ms += 10_900;
  assert.equal(each.take('ann').allowed, false);
  time.ms += 100;
  assert.equal(each.take('ann').allowed, true);
});

test('a bucket takes on the size that is given last, without being filled again', () => {
  const time = { ms: 0 };
  const each = new QuotaBuckets({ now: () => ms(0), monotonic: () => ms(time.ms) });
  assert.equal(each.take('ann', { perMinute: 60, atOnce: 100 }).remaining, 99);
  assert.equal(each.take('ann', { perMinute: 60 }).remaining, 59, 'a smaller one holds no more than it can');
  assert.equal(each.take('ann', { perMinute: 120 }).remaining, 58, 'a larger one begins with what there was');
  time.ms += 10_000;
  assert.equal(each.take('ann', { perMinute: 120 }).remaining, 77);
  assert.equal(each.take('bob', { perMinute: 5 }).remaining, 4);
});

test('each key has an allowance of its own', () => {
  const { buckets: each } = buckets(1);
  assert.equal(each.take('ann').allowed, true);
  assert.equal(each.take('ann').allowed, false);
  assert.equal(each.take('bob').allowed, true);
});

test('never more are allowed than the limit and what has come back since', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.nat({ max: 5000 }), { maxLength: 400 }),
      (perMinute, pauses) => {
        const { time, buckets: each } = buckets(perMinute);
        const start = time.ms;
        let allowed = 0;
        for (const pause of pauses) {
          time.ms += pause;
          if (each.take('ann').allowed) allowed += 1;
          assert.ok(allowed <= perMinute + ((time.ms - start) / 60_000) * perMinute + 1e-6);
        }
      },
    ),
  );
});

test('a caller that waits for `retryAfterS` is allowed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.nat({ max: 60_000 }), (perMinute, pause) => {
      const { time, buckets: each } = buckets(perMinute);
      let last = each.take('ann');
      for (let count = 0; last.allowed && count < 300; count += 1) last = each.take('ann');
      time.ms += pause;
      last = each.take('ann');
      if (last.allowed) return;
      time.ms += last.retryAfterS * 1000;
      assert.equal(each.take('ann').allowed, true);
    }),
  );
});

test('more keys than are remembered take no more memory, and the newest are remembered', () => {
  const { buckets: each } = buckets(1);
  for (let key = 0; key <= 10_000; key += 1) each.take(`key ${key}`);
  assert.equal(each.take('key 10000').allowed, false);
  assert.equal(each.take('key 0').allowed, true, 'the first was forgotten');
});
