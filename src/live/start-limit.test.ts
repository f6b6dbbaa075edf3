import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartLimit } from './start-limit.ts';

test('a file of two seconds that loops for an hour may always restart', () => {
  const limit = new StartLimit();
  for (let nowS = 0; nowS < 3600; nowS += 2) assert.equal(limit.next(nowS), 'start');
});

test('of a hundred starts per second five are allowed at once, then one per second, and after half a minute the limit gives up', () => {
  const limit = new StartLimit();
  const answers = Array.from({ length: 3200 }, (_, index) => limit.next(index / 100));
  const startsOf = (fromS: number, untilS: number) =>
    answers.slice(fromS * 100, untilS * 100).filter((each) => each === 'start').length;
  assert.equal(startsOf(0, 1), 5);
  for (let second = 1; second < 30; second++) assert.equal(startsOf(second, second + 1), 1);
  assert.equal(Math.floor(answers.indexOf('give_up') / 100), 30);
});

test('the half minute restarts after a time without starts', () => {
  const limit = new StartLimit();
  for (let index = 0; index < 100; index++) limit.next(0);
  assert.equal(limit.next(10), 'start');
  for (let index = 0; index < 100; index++) limit.next(35);
  assert.equal(limit.next(64), 'start');
});
