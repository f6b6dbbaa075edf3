import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LookupBudget } from './lookup-budget.ts';

/** A budget whose lookups the test answers. */
function setUp() {
  const budget = new LookupBudget(5000);
  const begun: { readonly address: string | undefined; readonly answer: () => void }[] = [];
  const look = (address?: string) =>
    budget.run(address, () => new Promise<void>((answer) => void begun.push({ address, answer })));
  return { begun, look };
}

const turns = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('four lookups run at a time, those of one network wait in their order, and those beyond 256 are refused at once', async () => {
  const { begun, look } = setUp();
  const looks = Array.from({ length: 4 + 256 }, () => look('192.0.2.1'));
  await assert.rejects(look('192.0.2.1'), { code: 'store_unavailable' });
  for (let done = 0; done < looks.length; done += 1) {
    await turns();
    assert.equal(begun.length, Math.min(looks.length, done + 4));
    begun[done]!.answer();
    await looks[done];
  }
});

test('however many lookups of one network wait, that of another network runs next, and so does one that no stranger causes', async () => {
  const { begun, look } = setUp();
  const flood = Promise.allSettled(Array.from({ length: 400 }, () => look('192.0.2.1')));
  const others = ['198.51.100.1', undefined].map((address) => look(address));
  for (const { answer } of begun.splice(0, 4)) answer();
  await turns();
  // The flood's turn came first, because its lookups had waited when the others came.
  assert.deepEqual(
    begun.map(({ address }) => address),
    ['192.0.2.1', '198.51.100.1', undefined, '192.0.2.1'],
  );
  while (begun.length > 0) {
    for (const { answer } of begun.splice(0)) answer();
    await turns();
  }
  await Promise.all(others);
  assert.equal((await flood).filter(({ status }) => status === 'fulfilled').length, 4 + 256 - others.length);
});

test('a lookup that waits too long is refused, and its turn goes to the next one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, look } = setUp();
  const running = Array.from({ length: 4 }, () => look());
  const late = assert.rejects(look(), { code: 'store_unavailable' });
  t.mock.timers.tick(5000);
  await late;
  const next = look();
  begun[0]!.answer();
  await turns();
  assert.equal(begun.length, 5);
  for (const { answer } of begun) answer();
  await Promise.all([...running, next]);
});
