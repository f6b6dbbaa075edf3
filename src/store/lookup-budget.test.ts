import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LookupBudget } from './lookup-budget.ts';

/** A budget whose lookups the test answers. */
function setUp() {
  const budget = new LookupBudget(5000);
  const begun: (() => void)[] = [];
  const look = () => budget.run(() => new Promise<void>((resolve) => void begun.push(resolve)));
  return { begun, look };
}

const turns = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('four lookups run at a time, the others wait in their order, and those beyond 256 are refused at once', async () => {
  const { begun, look } = setUp();
  const looks = Array.from({ length: 4 + 256 }, look);
  await assert.rejects(look(), { code: 'store_unavailable' });
  for (let done = 0; done < looks.length; done += 1) {
    await turns();
    assert.equal(begun.length, Math.min(looks.length, done + 4));
    begun[done]!();
    await looks[done];
  }
});

test('a lookup that waits too long is refused, and its turn goes to the next one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, look } = setUp();
  const running = Array.from({ length: 4 }, look);
  const late = assert.rejects(look(), { code: 'store_unavailable' });
  t.mock.timers.tick(5000);
  await late;
  const next = look();
  begun[0]!();
  await turns();
  assert.equal(begun.length, 5);
  for (const answer of begun) answer();
  await Promise.all([...running, next]);
});
