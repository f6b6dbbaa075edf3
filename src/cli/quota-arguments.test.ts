import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Exit } from './exit-code.ts';
import { quotaChangeOf } from './quota-arguments.ts';

test('quotas are whole numbers, 0 for no limit, or the default', () => {
  assert.deepEqual(quotaChangeOf(['streams=500', 'viewers=0', 'apiKeys=default', 'sessions=1000000000'], 'command'), {
    streams: 500,
    viewers: 0,
    apiKeys: null,
    sessions: 1_000_000_000,
  });
  assert.deepEqual(quotaChangeOf([], 'command'), {});
});

test('invalid changes of a quota are refused without being repeated', () => {
  const secret = 'typed-in-the-wrong-place';
  for (const args of [
    [secret],
    [`${secret}=5`],
    [`streams=${secret}`],
    ['streams'],
    ['streams='],
    ['=5'],
    ['streams=-1'],
    ['streams=1.5'],
    ['streams=1e3'],
    ['streams= 1'],
    ['streams=1000000001'],
    ['streams=1=2'],
    ['streams=1', 'streams=2'],
    ['Streams=1'],
    ['constructor=1'],
  ]) {
    assert.throws(
      () => quotaChangeOf(args, 'command'),
      (error) => error instanceof Exit && !JSON.stringify([error.message, error]).includes(secret),
      args.join(' '),
    );
  }
});
