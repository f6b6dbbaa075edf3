import assert from 'node:assert/strict';
import { test } from 'node:test';
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

test('while the store is slow, one address has four lookups at a time, and one network no more than its share', async () => {
  const { names, world, stuck, nothing } = setUp();
  const refused: string[] = [];
  const look = (name: string, address: string) =>
    void names.look(name, address, stuck).catch(({ code }) => refused.push(`${code} ${name}`));
  for (let each = 0; each < 6; each += 1) look(`host ${each}`, '10.0.0.1');
  assert.equal(world.looks, 4);
  for (let each = 0; each < 100; each += 1) look(`site ${each}`, `10.9.9.${each}`);
  assert.equal(world.looks, 32);
  assert.equal(
    await names.look('another', '10.0.1.1', nothing),
    undefined,
    'it takes the place of a lookup from the largest network',
  );
  assert.equal(refused.filter((each) => each === 'too_many_viewers site 0').length, 1);
});
