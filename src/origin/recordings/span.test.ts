import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MillraceError } from '#domain/errors.ts';
import { ms } from '#lib/units.ts';
import { narrow, parseSpan } from './span.ts';

const EPOCH = 1_790_000_000_000;
const recorded = { timeAt: (positionS: number, fromMs: number = EPOCH) => ms(fromMs + Math.round(positionS * 1000)) };

test('whatever a URL asks for, a span is inside of the excerpt and not empty, or it is refused', () => {
  const instant = fc.integer({ min: EPOCH - 100_000, max: EPOCH + 400_000 });
  const value = fc.oneof(
    fc.constant(undefined),
    instant.map(String),
    fc.double({ min: 0, max: 500, noNaN: true }).map((seconds) => seconds.toFixed(3)),
    fc.string(),
    fc.array(fc.string(), { maxLength: 2 }),
  );
  const excerpt = fc.oneof(
    fc.constant({}),
    fc.tuple(instant, fc.integer({ min: 1, max: 300_000 })).map(([fromMs, lengthMs]) => ({
      fromMs: ms(fromMs),
      untilMs: ms(fromMs + lengthMs),
    })),
  );
  fc.assert(
    fc.property(excerpt, value, value, (bounds: { fromMs?: number; untilMs?: number }, from, to) => {
      try {
        const span = narrow(bounds as never, parseSpan({ from, to }), recorded);
        const first = span.fromMs ?? Number.NEGATIVE_INFINITY;
        const end = span.untilMs ?? Number.POSITIVE_INFINITY;
        assert.ok(first < end);
        assert.ok(first >= (bounds.fromMs ?? Number.NEGATIVE_INFINITY));
        assert.ok(end <= (bounds.untilMs ?? Number.POSITIVE_INFINITY));
      } catch (error) {
        assert.ok(error instanceof MillraceError && error.code === 'invalid_request', String(error));
      }
    }),
  );
});
