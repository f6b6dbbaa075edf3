import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WaitingRoom } from './waiting-room.ts';

const never = new AbortController().signal;

describe('a waiting room', () => {
  test('answers at once when there is an answer, and holds nothing', async () => {
    const room = new WaitingRoom(12_000);
    assert.equal(await room.wait(() => 'here', 'late', { signal: never }), 'here');
    assert.equal(room.size, 0);
  });

  test('answers all waiting requests when the answer exists', async () => {
    const room = new WaitingRoom(12_000);
    let answer: string | undefined;
    const waits = [1, 2, 3].map(() => room.wait(() => answer, 'late', { signal: never }));
    room.wake();
    assert.equal(room.size, 3);
    answer = 'here';
    room.wake();
    assert.deepEqual(await Promise.all(waits), ['here', 'here', 'here']);
    assert.equal(room.size, 0);
  });

  test('rejects the wait whose answer throws, and still wakes the others', async () => {
    const room = new WaitingRoom(12_000);
    let hasCome = false;
    const failing = room.wait(
      () => {
        if (hasCome) throw new Error('a fault for this test');
        return undefined;
      },
      'late',
      { signal: never },
    );
    const other = room.wait(() => (hasCome ? 'here' : undefined), 'late', { signal: never });
    hasCome = true;
    room.wake();
    await assert.rejects(failing, /a fault for this test/);
    assert.equal(await other, 'here');
  });

  test('gives the late answer after the longest wait, and not before', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const room = new WaitingRoom(12_000);
    const wait = room.wait(() => undefined, 'late', { signal: never });
    t.mock.timers.tick(12_000);
    assert.equal(room.size, 1);
    t.mock.timers.tick(1_000);
    assert.equal(room.size, 0);
    assert.equal(await wait, 'late');
  });

  test('rejects a request that was aborted, with the given reason', async () => {
    const room = new WaitingRoom(12_000);
    const controller = new AbortController();
    const reason = new Error('left');
    const wait = room.wait(() => undefined, 'late', { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(wait, reason);
    assert.equal(room.size, 0);
    await assert.rejects(
      room.wait(() => undefined, 'late', { signal: controller.signal }),
      reason,
    );
  });

  test('does not read the signal of a request that can be answered at once', async () => {
    const room = new WaitingRoom(12_000);
    let read = 0;
    const waiting = {
      get signal() {
        read += 1;
        return never;
      },
    };
    assert.equal(await room.wait(() => 'here', 'late', waiting), 'here');
    assert.equal(read, 0);
    void room.wait(() => undefined, 'late', waiting);
    assert.equal(read, 1);
  });
});
