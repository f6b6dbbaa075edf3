import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './errors.ts';
import { RepeatKeys } from './repeat-keys.ts';

/** Sends each change with its outcome, and returns the numbers of the keys in the order in which they were first seen. */
async function keysOf(keys: RepeatKeys, changes: readonly (readonly [action: string, error?: Error])[]) {
  const seen: string[] = [];
  const used: number[] = [];
  for (const [action, error] of changes) {
    const send = async (key: string) => {
      if (!seen.includes(key)) seen.push(key);
      used.push(seen.indexOf(key));
      if (error) throw error;
    };
    await keys.use(action, send).catch((thrown: unknown) => assert.equal(thrown, error));
  }
  return used;
}

const lost = new ApiError(0, 'unreachable', 'The server cannot be reached.');

test('a change has the same key until its outcome is known, and then another one', async () => {
  assert.deepEqual(await keysOf(new RepeatKeys(), [['a', lost], ['b', lost], ['a'], ['a'], ['b']]), [0, 1, 0, 2, 1]);
});

test('an outcome is not known when the answer was cut off, came from a proxy, or says so', async () => {
  for (const [error, isKnown] of [
    [new SyntaxError('Unexpected end of JSON input'), false],
    [new ApiError(502, 'unknown', 'The server answered 502.'), false],
    [new ApiError(504, 'outcome_unknown', 'The outcome is not known.'), false],
    [new ApiError(409, 'conflict', 'The first request is still in progress.'), false],
    [new ApiError(422, 'invalid_body', 'The field name is missing.'), true],
    [new ApiError(503, 'unavailable', 'The database is away.'), true],
  ] as const) {
    assert.deepEqual(await keysOf(new RepeatKeys(), [['a', error], ['a']]), [0, isKnown ? 1 : 0], error.message);
  }
});

test('what was sent with a former token of the page is not sent with another key, and the reader is told where to look', async () => {
  const keys = new RepeatKeys();
  const reused = new ApiError(422, 'idempotency_key_reused', 'This Idempotency-Key was used for another request.');
  const seen = new Set<string>();
  const ask = (error: Error) =>
    keys.use('a', (key) => {
      seen.add(key);
      return Promise.reject(error);
    });
  await assert.rejects(ask(lost), lost);
  for (const _ of [1, 2]) await assert.rejects(ask(reused), /Load the page again to see what became of it/);
  assert.equal(seen.size, 1);
});

test('a key is kept for ten minutes after its last use, and the newest hundred are kept', async () => {
  let now = 0;
  const keys = new RepeatKeys(() => now);
  const seen = new Set<string>();
  const ask = async (action: string) => {
    const send = (key: string) => {
      seen.add(key);
      return Promise.reject(lost);
    };
    await assert.rejects(keys.use(action, send), lost);
    return seen.size;
  };
  assert.equal(await ask('a'), 1);
  now = 599_999;
  assert.equal(await ask('a'), 1);
  now += 600_000;
  assert.equal(await ask('a'), 2);
  for (let other = 1; other < 100; other += 1) await ask(`other ${other}`);
  assert.equal(await ask('a'), 101);
  await ask('one more');
  assert.equal(await ask('a'), 103);
});
