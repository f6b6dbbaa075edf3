import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { newStreamId } from '#domain/ids.ts';
import { ms } from '#lib/units.ts';
import { type RefusalReport, Refusals } from './refusals.ts';

/** Refusals on a clock that the test moves, and what they have reported. */
function startRefusals() {
  mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 1000;
  const reports: RefusalReport[] = [];
  const clock = { now: () => ms(nowMs), monotonic: () => ms(nowMs) };
  const refusals = new Refusals(clock, (report) => reports.push(report));
  const pass = (byMs: number) => {
    nowMs += byMs;
    mock.timers.tick(byMs);
  };
  return { refusals, reports, pass, [Symbol.dispose]: () => mock.timers.reset() };
}

test('a stream whose viewers were refused is reported a minute after the first of them, with all their reasons', () => {
  using fixture = startRefusals();
  const { refusals, reports, pass } = fixture;
  const [one, other] = [{ id: newStreamId() }, { id: newStreamId() }];
  refusals.note(one, 'no_credentials');
  pass(20_000);
  refusals.note(other, 'wrong_stream');
  refusals.note(one, 'no_credentials');
  refusals.note(one, 'expired');
  pass(39_999);
  assert.deepEqual(reports, []);
  pass(1);
  const [reasons, rest] = [
    { no_credentials: 2, expired: 1 },
    { from: ms(1000), until: ms(21_000), count: 3 },
  ];
  assert.deepEqual(reports, [{ streamId: one.id, ...rest, reasons }]);
  pass(20_000);
  assert.deepEqual(
    reports.map(({ streamId }) => streamId),
    [one.id, other.id],
  );
});

test('what is counted when the service stops is reported then, once', () => {
  using fixture = startRefusals();
  const { refusals, reports, pass } = fixture;
  refusals.note({ id: newStreamId() }, 'no_credentials');
  refusals[Symbol.dispose]();
  pass(60_000);
  assert.deepEqual(
    reports.map(({ count }) => count),
    [1],
  );
});
