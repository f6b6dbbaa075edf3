import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CautiousClock } from './cautious-clock.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, ms } from './units.ts';

const START = 1_700_000_000_000;

/** A machine whose clock can be set. */
function setUp({ startedAt = START } = {}) {
  const machine = { now: START, monotonic: 0 };
  const doubts: number[] = [];
  const clock = new CautiousClock({
    clock: { now: () => ms(machine.now), monotonic: () => ms(machine.monotonic) },
    startedAt: ms(startedAt),
    onDoubt: (aheadMs) => doubts.push(aheadMs),
  });
  const pass = (durationMs: number) => {
    machine.now += durationMs;
    machine.monotonic += durationMs;
  };
  return { machine, clock, doubts, pass };
}

test('a clock that runs, is corrected a little or is set back is believed', () => {
  const { machine, clock, doubts, pass } = setUp();
  for (const stepMs of [0, HOUR_MS, -HOUR_MS, -400 * DAY_MS]) {
    pass(30 * DAY_MS);
    machine.now += stepMs;
    assert.equal(clock.now(), machine.now);
  }
  assert.deepEqual(doubts, []);
});

test('a clock that is set ahead is believed a day later, or when it is right again', () => {
  for (const isCorrected of [false, true]) {
    const { machine, clock, doubts, pass } = setUp();
    clock.now();
    machine.now += 400 * DAY_MS;
    for (let minute = 0; minute < 10; minute += 1) {
      pass(MINUTE_MS);
      assert.equal(clock.now(), machine.now - 400 * DAY_MS);
    }
    if (isCorrected) machine.now -= 400 * DAY_MS;
    else pass(DAY_MS);
    assert.equal(clock.now(), machine.now);
    pass(MINUTE_MS);
    assert.equal(clock.now(), machine.now);
    assert.deepEqual(doubts, [400 * DAY_MS]);
  }
});

test('a clock that is ahead of another one at the start is not believed', () => {
  const { machine, clock, doubts, pass } = setUp({ startedAt: START - 400 * DAY_MS });
  pass(MINUTE_MS);
  assert.equal(clock.now(), machine.now - 400 * DAY_MS);
  assert.deepEqual(doubts, [400 * DAY_MS]);
});
