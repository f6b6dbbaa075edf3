import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Query } from './engine.ts';
import { ReadCache } from './read-cache.ts';

let version: number | undefined;
let cache: ReadCache;
let loads: number;

beforeEach(() => {
  version = 1;
  cache = new ReadCache(() => version);
  loads = 0;
});

const query = (...parameters: string[]): Query => ({ sql: 'select ?', parameters });
const load = async () => {
  loads += 1;
  return loads;
};
const read = (...parameters: string[]) => cache.get(query(...parameters), load);

describe('a read', () => {
  it('is answered from memory until something is committed', async () => {
    assert.deepEqual([await read('a'), await read('a')], [1, 1]);
    version = 2;
    assert.deepEqual([await read('a'), await read('a')], [2, 2]);
  });

  it('is answered at once while its answer is remembered, also when nothing was found', async () => {
    assert.ok(read('a') instanceof Promise);
    await read('a');
    assert.equal(read('a'), 1);
    const nothing = () => cache.get(query('b'), async () => undefined);
    await nothing();
    assert.equal(nothing(), undefined);
  });

  it('shares the answer of an equal read in progress, unless something was committed in between', async () => {
    const answers = [read('a'), read('a')];
    version = 2;
    answers.push(read('a'));
    assert.deepEqual(await Promise.all(answers.map(async (answer) => await answer)), [1, 1, 2]);
    assert.equal(await read('a'), 2);
  });

  it('in progress during a commit is not kept for later reads', async () => {
    const late = Promise.withResolvers<string>();
    const first = cache.get(query('a'), () => late.promise);
    version = 2;
    assert.equal(await read('b'), 1);
    late.resolve('old');
    assert.equal(await first, 'old');
    assert.equal(await read('a'), 2);
  });

  it('is not answered with the result of another one', async () => {
    assert.deepEqual([await read('a', 'b'), await read('a,b'), await read('a","b')], [1, 2, 3]);
    assert.equal(await cache.get({ sql: 'select 1 + ?', parameters: ['a', 'b'] }, load), 4);
  });

  it('is read each time when the engine cannot tell its version', async () => {
    version = undefined;
    assert.deepEqual([await read('a'), await read('a')], [1, 2]);
  });

  it('that failed is repeated', async () => {
    const failure = new Error('away');
    await assert.rejects(async () => await cache.get(query('a'), () => Promise.reject(failure)), failure);
    assert.equal(await read('a'), 1);
  });
});

it('keeps at most a thousand answers', async () => {
  for (let n = 0; n < 1000; n += 1) await read(String(n));
  await read('0');
  assert.equal(loads, 1000);
  await read('one more');
  await read('0');
  assert.equal(loads, 1002);
});
