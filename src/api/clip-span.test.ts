import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { MillraceError } from '#domain/errors.ts';
import { ms } from '#lib/units.ts';
import { clipSpan } from './clip-span.ts';

const RECORDED = { fromMs: ms(1000.4), untilMs: ms(5000.6), isGrowing: false };
const NOW = ms(9000);

/** The code of the error that a call throws. */
function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return error instanceof MillraceError ? error.code : String(error);
  }
}

test('a clip has the requested span if that is recorded, including both ends as clients see them', () => {
  for (const [startTime, endTime] of [
    [1000, 5001],
    [1001, 1002],
    [2000, 5000],
  ] as const) {
    assert.deepEqual(clipSpan({ startTime, endTime }, RECORDED, NOW), { fromMs: startTime, untilMs: endTime });
  }
});

test('a clip ends with the recording when no end is requested, and when a running recording is clipped up to now', () => {
  const until = { fromMs: 2000, untilMs: 5001 };
  assert.deepEqual(clipSpan({ startTime: 2000, endTime: undefined }, RECORDED, NOW), until);
  const running = { ...RECORDED, isGrowing: true };
  assert.deepEqual(clipSpan({ startTime: 2000, endTime: undefined }, running, NOW), until);
  assert.deepEqual(clipSpan({ startTime: 2000, endTime: 9000 }, running, NOW), until);
  assert.deepEqual(clipSpan({ startTime: 2000, endTime: 4000 }, running, NOW), { fromMs: 2000, untilMs: 4000 });
});

test('a span that is not recorded is refused with an error that says what is recorded', () => {
  const running = { ...RECORDED, isGrowing: true };
  for (const [startTime, endTime, recorded] of [
    [999, 2000, RECORDED],
    [5001, 6000, RECORDED],
    [2000, 5002, RECORDED],
    [2000, 9001, running],
    [6000, undefined, running],
    [2000, 3000, { ...RECORDED, fromMs: undefined }],
    [2000, 3000, { ...RECORDED, untilMs: RECORDED.fromMs }],
  ] as const) {
    assert.equal(
      codeOf(() => clipSpan({ startTime, endTime }, recorded, NOW)),
      'clip_out_of_range',
    );
  }
  assert.throws(() => clipSpan({ startTime: 1, endTime: 2 }, RECORDED, NOW), /startTime .* from 1000 to 5001\.$/);
});

test('a clip is never empty and never longer than the recording; otherwise it is refused with one of two errors', () => {
  const time = fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.double({ min: 0, max: 1e16, noNaN: true }));
  fc.assert(
    fc.property(
      fc.record({ startTime: time, endTime: fc.option(time, { nil: undefined }) }),
      fc.record({ fromMs: time.map(ms), untilMs: time.map(ms), isGrowing: fc.boolean() }),
      time.map(ms),
      (asked, recorded, now) => {
        const code = codeOf(() => {
          const { fromMs, untilMs } = clipSpan(asked, recorded, now);
          assert.ok(fromMs < untilMs);
          assert.ok(fromMs >= recorded.fromMs - 1 && untilMs <= recorded.untilMs + 1);
        });
        assert.match(String(code), /^(undefined|invalid_body|clip_out_of_range)$/);
      },
    ),
    { numRuns: 1000 },
  );
});
