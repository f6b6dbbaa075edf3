import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MillraceError } from '#domain/errors.ts';
import type { ApiKeyId } from '#domain/ids.ts';
import { type Milliseconds, ms } from '#lib/units.ts';
import { KeyUse } from './key-use.ts';

const id = (name: string) => name as ApiKeyId;

/** A store that may be down, with a record of what was written to it. */
function recorded(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const written: [ApiKeyId, Milliseconds][][] = [];
  const state = { isAway: false };
  const seen = async (times: ReadonlyMap<ApiKeyId, Milliseconds>) => {
    if (state.isAway) throw new MillraceError('store_unavailable', 'The store is down.');
    written.push([...times]);
  };
  return { written, state, use: new KeyUse({ apiKeys: { seen } as never }) };
}

test('keys used within a minute are written together, each once with its last time', async (t) => {
  const { written, use } = recorded(t);
  for (let at = 0; at < 100; at += 1) use.note(id(at % 2 ? 'a' : 'b'), ms(at));
  assert.deepEqual(written, []);
  t.mock.timers.tick(60_000);
  assert.deepEqual(written, [
    [
      ['b', 98],
      ['a', 99],
    ],
  ]);
  t.mock.timers.tick(600_000);
  assert.equal(written.length, 1, 'no key was used since');
});

test('uses that are not written yet are written on close', async (t) => {
  const { written, use } = recorded(t);
  use.note(id('a'), ms(1));
  await use[Symbol.asyncDispose]();
  assert.deepEqual(written, [[['a', 1]]]);
});

test('uses that could not be stored are written when the store is back, each key with its newest time', async (t) => {
  const { written, state, use } = recorded(t);
  state.isAway = true;
  use.note(id('a'), ms(1));
  use.note(id('b'), ms(1));
  const writing = use.write();
  use.note(id('a'), ms(2));
  await writing;
  state.isAway = false;
  await use.write();
  assert.deepEqual(written, [
    [
      ['b', 1],
      ['a', 2],
    ],
  ]);
});

test('no more keys are remembered than the limit', async (t) => {
  const { written, use } = recorded(t);
  for (let count = 0; count < 10_001; count += 1) use.note(id(String(count)), ms(count));
  await use.write();
  assert.equal(written[0]?.length, 10_000);
  assert.equal(written[0]?.[0]?.[0], '1');
});
