import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PacedTurns } from './paced-turns.ts';
import { ms } from './units.ts';

test('work runs one piece at a time, users take turns, and together they take only their share of the time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  const clock = { now: () => ms(0), monotonic: () => ms(nowMs) };
  const turns = new PacedTurns({ share: 0.25, clock });
  const ran: string[] = [];
  const work = (name: string, tookMs: number) => async () => {
    ran.push(`${name} at ${nowMs}`);
    nowMs += tookMs;
    t.mock.timers.tick(tookMs);
  };
  const done = [
    turns.run('a', work('a1', 10)),
    turns.run('a', work('a2', 10)),
    turns.run('a', work('a3', 1)),
    turns.run('b', work('b1', 1)),
  ];
  for (; nowMs < 200; nowMs += 1) {
    await turn();
    t.mock.timers.tick(1);
  }
  await Promise.all(done);
  assert.deepEqual(ran, ['a1 at 0', 'a2 at 40', 'b1 at 80', 'a3 at 84']);
});

test('the next piece runs after one that fails, and soon after one that took very long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  const clock = { now: () => ms(0), monotonic: () => ms(nowMs) };
  const turns = new PacedTurns({ share: 0.5, clock });
  const failing = turns.run('a', () => {
    nowMs += 60_000;
    return Promise.reject(new Error('broken'));
  });
  const next = turns.run('b', () => Promise.resolve('done'));
  await assert.rejects(failing, /broken/);
  t.mock.timers.tick(50);
  assert.equal(await next, 'done');
});
