import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { newPlaybackId } from '#domain/ids.ts';
import { NO_USAGE } from '#domain/usage.ts';
import { HOUR_MS, ms } from '#lib/units.ts';
import { UsageBook } from './usage-book.ts';

const [one, other] = [newPlaybackId(), newPlaybackId()];

test('an hour of a stream is handed out with everything counted so far, and only when it grew', () => {
  const book = new UsageBook();
  const now = ms(5 * HOUR_MS + 7);
  book.count(one, { ingestBytes: 10, ingestMs: 1.6 }, now);
  book.count(one, { ingestBytes: 5, ingestMs: 1.6, views: 1 }, now);
  book.count(other, { deliveredBytes: 1 }, now);
  const taken = book.take();
  assert.deepEqual(
    taken.map(({ hour, playbackId, counts }) => [hour, playbackId, counts]),
    [
      [5 * HOUR_MS, one, { ...NO_USAGE, ingestBytes: 15, ingestMs: 3, views: 1 }],
      [5 * HOUR_MS, other, { ...NO_USAGE, deliveredBytes: 1 }],
    ],
  );
  assert.equal(new Set(taken.map(({ countedBy }) => countedBy)).size, 1);
  assert.deepEqual(book.take(), []);
  book.giveBack(taken.slice(0, 1));
  assert.deepEqual(book.take(), taken.slice(0, 1));
  book.count(one, { ingestBytes: 1 }, now);
  assert.equal(book.take()[0]?.counts.ingestBytes, 16);
});

test('an hour that is over is forgotten once it was written, and never before', () => {
  const book = new UsageBook();
  book.count(one, { views: 1 }, ms(0));
  book.forgetBefore(ms(9 * HOUR_MS));
  assert.equal(book.take().length, 1);
  book.forgetBefore(ms(HOUR_MS - 1));
  book.count(one, { views: 1 }, ms(0));
  assert.equal(book.take()[0]?.counts.views, 2, 'the hour was not over');
  book.forgetBefore(ms(HOUR_MS));
  book.count(one, { views: 1 }, ms(HOUR_MS));
  assert.deepEqual(
    book.take().map(({ hour, counts }) => [hour, counts.views]),
    [[HOUR_MS, 1]],
  );
});

test('nothing is lost or counted twice, however writes fail and the clock is set back', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ bytes: fc.nat(1000), minutes: fc.integer({ min: -70, max: 90 }), fails: fc.boolean() })),
      (steps) => {
        const book = new UsageBook();
        const stored = new Map<string, number>();
        let now = 1000 * HOUR_MS;
        let total = 0;
        const write = (fails: boolean) => {
          const taken = book.take();
          for (const { hour, countedBy, counts } of taken) stored.set(`${hour} ${countedBy}`, counts.ingestBytes);
          // The write happened, but its outcome was unknown.
          if (fails) book.giveBack(taken);
          book.forgetBefore(ms(now));
        };
        for (const { bytes, minutes, fails } of steps) {
          now += minutes * 60_000;
          total += bytes;
          book.count(one, { ingestBytes: bytes }, ms(now));
          write(fails);
        }
        write(false);
        assert.equal(
          [...stored.values()].reduce((sum, value) => sum + value, 0),
          total,
        );
      },
    ),
  );
});
