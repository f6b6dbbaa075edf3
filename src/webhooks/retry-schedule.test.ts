import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS } from '#lib/units.ts';
import { nextStep, retryAfterOf } from './retry-schedule.ts';

const facts = { statusCode: 500 as number | undefined, retryAfterMs: undefined, attempts: 0, ageMs: 0 };

test('2xx is always a success', () => {
  for (const statusCode of [200, 204, 299]) {
    assert.deepEqual(nextStep({ ...facts, statusCode, ageMs: 9 * DAY_MS }, 0), { type: 'delivered' });
  }
});

test('everything else is retried: no answer, redirects, 4xx and 5xx', () => {
  for (const statusCode of [undefined, 100, 301, 302, 400, 401, 404, 408, 429, 500, 503]) {
    assert.equal(nextStep({ ...facts, statusCode }, 0).type, 'retry', String(statusCode));
  }
});

test('410 ends all deliveries of the webhook', () => {
  assert.deepEqual(nextStep({ ...facts, statusCode: 410 }, 0), { type: 'gone' });
});

test('pauses double from 5 s to an hour, and half of each is random', () => {
  const pauses = [0, 0.999999].map((random) =>
    Array.from({ length: 14 }, (_, attempts) => {
      const next = nextStep({ ...facts, attempts }, random);
      return next.type === 'retry' ? Math.round(next.delayMs / 100) / 10 : undefined;
    }),
  );
  const longest = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600];
  assert.deepEqual(pauses, [longest.map((pause) => pause / 2), longest]);
});

test('Retry-After makes a pause longer, up to a day, and never shorter', () => {
  const delay = (retryAfterMs: number, statusCode = 429) => nextStep({ ...facts, statusCode, retryAfterMs }, 0);
  assert.deepEqual(delay(60_000), { type: 'retry', delayMs: 60_000 });
  assert.deepEqual(delay(60_000, 503), { type: 'retry', delayMs: 60_000 });
  assert.deepEqual(delay(1), { type: 'retry', delayMs: 2500 });
  assert.deepEqual(delay(9 * DAY_MS), { type: 'retry', delayMs: DAY_MS });
});

test('a delivery is given up when its next attempt would be three days after its creation', () => {
  const last = { ...facts, attempts: 70 };
  assert.equal(nextStep({ ...last, ageMs: 3 * DAY_MS - HOUR_MS }, 0.5).type, 'retry');
  assert.equal(nextStep({ ...last, ageMs: 3 * DAY_MS - HOUR_MS / 2 }, 0.5).type, 'dead');
});

test('Retry-After is seconds or a date; anything else is ignored', () => {
  const now = Date.parse('Tue, 24 Nov 2026 10:00:00 GMT');
  assert.equal(retryAfterOf('120', now), 120_000);
  assert.equal(retryAfterOf('Tue, 24 Nov 2026 10:01:00 GMT', now), 60_000);
  assert.equal(retryAfterOf('Tue, 24 Nov 2026 09:00:00 GMT', now), 0);
  for (const value of [undefined, '', '-1', '1.5', 'soon', '99999999999', 'Tue, nonsense']) {
    assert.equal(retryAfterOf(value, now), undefined, String(value));
  }
});
