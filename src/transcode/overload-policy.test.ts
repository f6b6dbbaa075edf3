import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { OverloadPolicy } from './overload-policy.ts';

/** Calls the policy every 100 ms from `fromMs` to `toMs` and lists its decisions. */
function run(policy: OverloadPolicy, lagMs: number, fromMs: number, toMs: number): string[] {
  const decided: string[] = [];
  for (let now = fromMs; now < toMs; now += 100) {
    const action = policy.judge(lagMs, now);
    if (action !== undefined)
      decided.push(`${now} ${action.type}${'renditionId' in action ? ` ${action.renditionId}` : ''}`);
  }
  return decided;
}

it('does nothing while a worker lags less than a second', () => {
  assert.deepEqual(run(new OverloadPolicy(['large', 'small']), 1000, 0, 60_000), []);
});

it('sheds the largest rendition first, waits to see the effect, and never sheds the smallest', () => {
  const policy = new OverloadPolicy(['large', 'middle', 'small']);
  assert.deepEqual(run(policy, 1500, 0, 2000), ['0 shed large', '500 shed middle', '1000 skip', '1500 skip']);
  assert.deepEqual(policy.shed, ['large', 'middle']);
});

it('skips at once at a lag of two seconds', () => {
  assert.deepEqual(run(new OverloadPolicy(['large', 'small']), 2500, 0, 500), ['0 skip']);
});

it('restores renditions in the opposite order, each after ten steady seconds', () => {
  const policy = new OverloadPolicy(['large', 'middle', 'small']);
  run(policy, 1500, 0, 1000);
  assert.deepEqual(run(policy, 100, 1000, 40_000), ['11000 restore middle', '21000 restore large']);
});

it('waits twice as long after a relapse, and as before after a minute without one', () => {
  const policy = new OverloadPolicy(['large', 'small']);
  run(policy, 1500, 0, 500);
  assert.deepEqual(run(policy, 0, 500, 11_000), ['10500 restore large']);
  assert.deepEqual(run(policy, 1500, 11_000, 11_500), ['11000 shed large']);
  assert.deepEqual(run(policy, 0, 11_500, 60_000), ['31500 restore large']);
  run(policy, 0, 60_000, 120_000);
  assert.deepEqual(run(policy, 1500, 120_000, 120_500), ['120000 shed large']);
  assert.deepEqual(run(policy, 0, 120_500, 140_000), ['130500 restore large']);
});

it('restarts the wait when the worker lags a little in between', () => {
  const policy = new OverloadPolicy(['large', 'small']);
  run(policy, 1500, 0, 500);
  run(policy, 0, 500, 9000);
  run(policy, 300, 9000, 9100);
  assert.deepEqual(run(policy, 0, 9100, 25_000), ['19100 restore large']);
});

it('sheds as many of other renditions as were shed before, but never the last', () => {
  const policy = new OverloadPolicy(['a', 'b', 'c']);
  run(policy, 1500, 0, 1000);
  policy.replaceOrder(['x', 'y']);
  assert.deepEqual(policy.shed, ['x']);
  policy.replaceOrder([]);
  assert.deepEqual(policy.shed, []);
  assert.deepEqual(run(policy, 1500, 1000, 1500), ['1000 skip']);
});

it('sheds no other rendition in place of one that is left out, and never sheds the last that remains', () => {
  const policy = new OverloadPolicy(['a', 'b', 'c', 'd']);
  run(policy, 1500, 0, 1000);
  assert.deepEqual([policy.leaveOut('a'), policy.shed], [undefined, ['b']]);
  assert.deepEqual([policy.leaveOut('d'), policy.shed], [undefined, ['b']]);
  assert.deepEqual([policy.leaveOut('c'), policy.shed], ['b', []]);
  assert.deepEqual(run(policy, 1500, 1000, 1500), ['1000 skip']);
});

it('for any lag, the shed renditions are the first ones of the order, and never include the last', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 500 }),
      fc.integer({ min: 1, max: 5 }),
      (lags, count) => {
        const order = Array.from({ length: count }, (_, index) => `r${index}`);
        const policy = new OverloadPolicy(order);
        for (const [index, lag] of lags.entries()) {
          policy.judge(lag, index * 1000);
          assert.deepEqual(policy.shed, order.slice(0, policy.shed.length));
          assert.ok(policy.shed.length < count);
        }
      },
    ),
  );
});
