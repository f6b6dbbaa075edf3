import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SourceTrust } from './source-trust.ts';

const MEMORY = { reason: 'too_much_memory', exit: 'SIGKILL', ranMs: 3_600_000 } as const;
const CRASH = { reason: 'exited', exit: 'SIGSEGV', ranMs: 2000 } as const;

it('a source whose worker uses too much memory or soon crashes is refused after the second worker', () => {
  for (const losses of [
    [MEMORY, MEMORY],
    [CRASH, MEMORY],
    [CRASH, { reason: 'exited', exit: 1, ranMs: 0 }],
  ] as const) {
    const trust = new SourceTrust();
    trust.workerLost(losses[0]);
    assert.equal(trust.isRefused, false);
    trust.workerLost(losses[1]);
    assert.equal(trust.isRefused, true);
  }
});

it('a worker that is lost for another reason does not count against the source', () => {
  const trust = new SourceTrust();
  for (let count = 0; count < 10; count += 1) {
    trust.workerLost({ reason: 'exited', exit: 'SIGKILL', ranMs: 0 });
    trust.workerLost({ reason: 'hung', exit: 'SIGKILL', ranMs: 0 });
    trust.workerLost({ reason: 'not_started', exit: undefined, ranMs: 0 });
    trust.workerLost({ reason: 'exited', exit: 0, ranMs: 0 });
    trust.workerLost({ ...CRASH, ranMs: 60_000 });
  }
  assert.equal(trust.isRefused, false);
});

it('a refused source gets one more worker with another size, and only once', () => {
  const trust = new SourceTrust();
  assert.equal(trust.accepts({ width: 640, height: 360 }), true);
  trust.workerLost(MEMORY);
  assert.equal(trust.accepts({ width: 1280, height: 360 }), true);
  trust.workerLost(MEMORY);
  assert.equal(trust.isRefused, true, 'another size does not reset the count of a source that was not refused');
  assert.equal(trust.accepts({ width: 1280, height: 360 }), false, 'the same size');
  assert.equal(trust.accepts({ width: 1280, height: 720 }), true);
  assert.equal(trust.accepts({ width: 1280, height: 720 }), true, 'asked again');
  trust.workerLost(MEMORY);
  assert.equal(trust.isRefused, true);
  assert.equal(trust.accepts({ width: 640, height: 360 }), false);
});
