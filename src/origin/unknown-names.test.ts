import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ms } from '#lib/units.ts';
import { UnknownNames } from './unknown-names.ts';

/** Unknown names, and two lookups: one that never ends, and one that finds nothing at once. */
function setUp() {
  const world = { now: 0, looks: 0 };
  const clock = { now: () => ms(world.now), monotonic: () => ms(world.now) };
  const names = new UnknownNames<string>({ keptForMs: 1000, clock });
  const stuck = () => {
    world.looks += 1;
    return new Promise<undefined>(() => {});
  };
  const nothing = async () => {
    world.looks += 1;
    return undefined;
  };
  return { names, world, stuck, nothing };
}

test('a name is looked up once for all callers, and again after it has been remembered for its time', async () => {
  const { names, world, nothing } = setUp();
  const answers = await Promise.all(['10.0.0.1', '10.0.1.1'].map((address) => names.look('a', address, nothing)));
  assert.deepEqual([answers, world.looks], [[undefined, undefined], 1]);
  await names.look('a', '10.0.0.1', nothing);
  assert.equal(world.looks, 1);
  world.now = 1000;
  await names.look('a', '10.0.0.1', nothing);
  assert.equal(world.looks, 2);
});

test('the caller gets the result or the error of the lookup', async () => {
  const { names } = setUp();
  assert.equal(await names.look('a', '10.0.0.1', async () => ({ answer: 'here' })), 'here');
  const failing = Promise.reject(new Error('away'));
  await assert.rejects(
    names.look('a', '10.0.0.1', () => failing),
    /away/,
  );
});

test('one address may ask for any number of names that exist at once', async () => {
  const { names } = setUp();
  const asked = Array.from({ length: 100 }, (_, each) => `name ${each}`);
  const answers = await Promise.all(
    asked.map((name) =>
      names.look(name, '10.0.0.1', async () => {
        await turn();
        return { answer: name };
      }),
    ),
  );
  assert.deepEqual(answers, asked);
});

test('a network that has asked for 600 unknown names in a minute is refused, also what waits by then, and no other is', async () => {
  const { names, world, nothing } = setUp();
  const slow = async () => {
    await turn();
    return await nothing();
  };
  for (let asked = 0; asked < 595; asked += 1) await names.look(`name ${asked}`, '10.0.0.1', nothing);
  const looks = Array.from({ length: 100 }, (_, each) => names.look(`another ${each}`, '10.0.0.1', slow));
  const refused = (await Promise.allSettled(looks)).filter(({ status }) => status === 'rejected');
  // The 600th began the wait, while 31 other lookups were in progress.
  assert.deepEqual([world.looks, refused.length], [600 + 31, 100 - 5 - 31]);
  await assert.rejects(names.look('one more', '10.0.0.1', nothing), { code: 'too_many_viewers' });
  assert.equal(await names.look('one more', '10.0.1.1', nothing), undefined);
});

test('while one network waits for many names, another network is next, also with a name that the first one waits for', async () => {
  const { names } = setUp();
  const begun: string[] = [];
  const answers: (() => void)[] = [];
  const find = (name: string) => async () => {
    begun.push(name);
    await new Promise<void>((resolve) => void answers.push(resolve));
    return { answer: name };
  };
  const flood = Array.from({ length: 200 }, (_, each) =>
    names.look(`flood ${each}`, '10.0.0.1', find(`flood ${each}`)),
  );
  const other = names.look('flood 199', '10.0.1.1', find('flood 199 for another'));
  assert.equal(begun.length, 32);
  for (const answer of answers.splice(0, 2)) answer();
  await turn();
  assert.deepEqual(begun.slice(32), ['flood 32', 'flood 199 for another']);
  while (answers.length > 0) {
    for (const answer of answers.splice(0)) answer();
    await turn();
  }
  assert.equal(await other, 'flood 199 for another');
  assert.equal((await Promise.all(flood)).length, 200);
});

test('while the store is stuck, names are refused after 5 s', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { names, stuck } = setUp();
  for (let each = 0; each < 32; each += 1) void names.look(`host ${each}`, '10.0.0.1', stuck);
  const late = assert.rejects(names.look('late', '10.0.1.1', stuck), { code: 'too_many_viewers' });
  t.mock.timers.tick(5000);
  await late;
});
