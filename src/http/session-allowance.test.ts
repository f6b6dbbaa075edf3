import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SessionAllowance } from './session-allowance.ts';

const ANSWERED = { isAnswered: true, isFlooder: false };
const CANCELLED = { isAnswered: false, isFlooder: false };

describe('the allowance of an HTTP/2 connection', () => {
  it('ends with the ninth request cancelled before its answer, and with the third for a host that flooded recently', () => {
    const allowance = new SessionAllowance();
    for (let each = 0; each < 8; each += 1) assert.equal(allowance.ended(CANCELLED), false);
    assert.equal(allowance.ended(CANCELLED), true);
    const again = new SessionAllowance();
    const outcomes = [1, 2, 3].map(() => again.ended({ ...CANCELLED, isFlooder: true }));
    assert.deepEqual(outcomes, [false, false, true]);
  });

  it('never ends for a player that cancels as many requests as are answered', () => {
    const allowance = new SessionAllowance();
    for (let each = 0; each < 1000; each += 1) {
      assert.equal(allowance.ended(CANCELLED), false);
      assert.equal(allowance.ended(ANSWERED), false);
    }
  });

  it('grows with answered requests, by at most as many as may be concurrent', () => {
    const allowance = new SessionAllowance();
    for (let each = 0; each < 1000; each += 1) allowance.ended(ANSWERED);
    for (let each = 0; each < 256 + 8; each += 1) assert.equal(allowance.ended(CANCELLED), false);
    assert.equal(allowance.ended(CANCELLED), true);
  });

  it('ends with more than 64 KiB that belong to no request, and recovers by as much a second', () => {
    const allowance = new SessionAllowance();
    assert.equal(allowance.read(65_536, 0), false);
    assert.equal(allowance.read(65_536 + 32_768, 0.5), false);
    assert.equal(allowance.read(65_536 + 32_768 + 1, 0), true);
    const rested = new SessionAllowance();
    assert.equal(rested.read(0, 3600), false);
    assert.equal(rested.read(65_537, 0), true, 'bytes that were not sent do not accumulate');
  });

  it('lets a proxy send as much as its requests may have, bodies included', () => {
    const allowance = new SessionAllowance();
    let readBytes = 0;
    for (let look = 0; look < 100; look += 1) {
      for (let request = 0; request < 256; request += 1) {
        const hasBody = request % 2 === 0;
        allowance.begun({ hasBody });
        readBytes += hasBody ? 110_000 : 16_000;
      }
      assert.equal(allowance.read(readBytes, 0.1), false);
    }
  });
});
