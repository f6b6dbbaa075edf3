import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressCounts } from './address-counts.ts';

test('connections are counted by address, and an IPv6 host cannot have more by using other addresses of its /64', () => {
  const counts = new AddressCounts();
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:3::1', '192.0.2.1']) counts.add(address);
  const all = () => ['2001:db8:1:2::3', '2001:db8:1:3::3', '192.0.2.1', '192.0.2.2'].map((each) => counts.of(each));
  assert.deepEqual(all(), [2, 1, 1, 0]);
  counts.remove('2001:db8:1:2::1');
  counts.remove('192.0.2.1');
  assert.deepEqual(all(), [1, 1, 0, 0]);
});
