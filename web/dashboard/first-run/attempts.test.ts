import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsOf, strangeAttempts } from './attempts.ts';

const refused = (id: string, until: number) => ({
  id,
  type: 'publish.refused',
  createdAt: 1,
  payload: {
    reason: 'key_replaced',
    message: 'the key was replaced; copy the new one',
    address: '192.0.2.1',
    until,
    count: 2,
  },
});

test('attempts are shown newest first, at most three, and none from before the stream was live', () => {
  const started = { id: 's', type: 'stream.started', createdAt: 1, payload: {} };
  const events = [refused('a', 9), refused('b', 8), started, refused('c', 7)] as never[];
  const found = attemptsOf(events);
  assert.deepEqual(
    found.map(({ id, at, count, message }) => [id, at, count, message]),
    [
      ['a', 9, 2, 'The key was replaced; copy the new one.'],
      ['b', 8, 2, 'The key was replaced; copy the new one.'],
    ],
  );
  assert.equal(attemptsOf([1, 2, 3, 4].map((n) => refused(String(n), n)) as never[]).length, 3);
  assert.deepEqual(attemptsOf([]), []);
});

test('an attempt with an unknown key is shown when it came from here and not long ago', () => {
  const attempt = {
    reason: 'key_unknown',
    message: 'the stream key is not the key of any stream',
    protocol: 'rtmp',
    address: '192.0.2.1',
    isFromHere: true,
    count: 1,
    firstAt: 1,
    lastAt: 1_000_000,
  } as const;
  const shown = (change: object, now = 1_001_000) => strangeAttempts([{ ...attempt, ...change }], now).length;
  assert.equal(shown({}), 1);
  assert.equal(shown({ isFromHere: false }), 0);
  assert.equal(shown({ streamId: 's' }), 0, 'it is among the events of its stream');
  assert.equal(shown({}, 1_121_000), 0);
});
