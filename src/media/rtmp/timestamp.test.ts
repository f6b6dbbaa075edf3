import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TimestampUnwrapper } from './timestamp.ts';

const unwrapped = (timestamps: readonly number[]) => {
  const clock = new TimestampUnwrapper();
  return timestamps.map((timestamp) => clock.unwrap(timestamp));
};

describe('timestamps', () => {
  it('continue beyond 32 bits, for tracks that wrap one after the other', () => {
    const wrap = 2 ** 32;
    assert.deepEqual(unwrapped([0xfffffff0, 10, 0xfffffff8, 20, 18]), [
      wrap - 16,
      wrap + 10,
      wrap - 8,
      wrap + 20,
      wrap + 18,
    ]);
  });

  it('wrap again and again', () => {
    const step = 2 ** 30;
    const sent = Array.from({ length: 20 }, (_, index) => (index * step) % 2 ** 32);
    assert.deepEqual(
      unwrapped(sent),
      sent.map((_, index) => index * step),
    );
  });

  it('that jump or go back are not changed', () => {
    assert.deepEqual(unwrapped([5000, 60_000, 40, 80]), [5000, 60_000, 40, 80]);
  });

  it('go below zero when the second of two tracks starts before the first', () => {
    assert.deepEqual(unwrapped([5, 0xfffffffb]), [5, -5]);
  });
});
