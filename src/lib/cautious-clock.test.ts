import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CautiousClock } from './cautious-clock.ts';
import { ms } from './units.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
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
  for (const stepMs of [0, HOUR, -HOUR, -400 * DAY]) {
    pass(30 * DAY);
    machine.now += stepMs;
    assert.equal(clock.now(), machine.now);
  }
  assert.deepEqual(doubts, []);
});

test('a clock that is set ahead is believed a day later, or when it is right again', () => {
  for (const isCorrected of [false, true]) {
    const { machine, clock, doubts, pass } = setUp();
    clock.now();
    machine.now += 400 * DAY;
    for (let minute = 0; minute < 10; minute += 1) {
      pass(MINUTE);
      assert.equal(clock.now(), machine.now - 400 * DAY);
    }
    if (isCorrected) machine.now -= 400 * DAY;
    else pass(DAY);
    assert.equal(clock.now(), machine.now);
    pass(MINUTE);
    assert.equal(clock.now(), machine.now);
    assert.deepEqual(doubts, [400 * DAY]);
  }
});

test('a clock that is ahead of another one at the start is not believed', () => {
  const { machine, clock, doubts, pass } = setUp({ startedAt: START - 400 * DAY });
  pass(MINUTE);
  assert.equal(clock.now(), machine.now - 400 * DAY);
  assert.deepEqual(doubts, [400 * DAY]);
});
