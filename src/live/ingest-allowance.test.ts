import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngestAllowance } from './ingest-allowance.ts';

const LIMIT_KBPS = 8000; // a megabyte a second
const MEGABYTE = 1_000_000;

/** Sends the same amount each second, and returns the second in which it was too much. */
function secondsAllowed(bytesPerSecond: number, { forS = 1000, first = 0 } = {}): number {
  const allowance = new IngestAllowance(0);
  const use = (sizeBytes: number, nowMs: number) => allowance.use(sizeBytes, { limitKbps: LIMIT_KBPS, nowMs });
  assert.ok(use(first, 0));
  for (let second = 1; second <= forS; second++) if (!use(bytesPerSecond, second * 1000)) return second;
  return forS;
}

test('a publisher at its limit is never too fast, even after a burst of nine seconds of media', () => {
  assert.equal(secondsAllowed(MEGABYTE), 1000);
  assert.equal(secondsAllowed(MEGABYTE, { first: 9 * MEGABYTE }), 1000);
});

test('a publisher above its limit is too fast as soon as it is ten seconds of media ahead', () => {
  assert.equal(secondsAllowed(2 * MEGABYTE), 10);
  assert.equal(secondsAllowed(5 * MEGABYTE), 3);
  assert.equal(secondsAllowed(1.1 * MEGABYTE), 91);
});

test('without a limit no bitrate is too fast', () => {
  const allowance = new IngestAllowance(0);
  assert.ok(allowance.use(2 ** 40, { limitKbps: 0, nowMs: 0 }));
  assert.ok(
    allowance.use(MEGABYTE, { limitKbps: LIMIT_KBPS, nowMs: 1 }),
    'bytes received without a limit are not counted later',
  );
});
