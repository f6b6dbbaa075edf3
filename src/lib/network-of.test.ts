import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './network-of.ts';

test('one IPv6 /64 is one network, and so is IPv4 mapped into IPv6', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::9'));
  assert.notEqual(networkOf('2001:db8:1:2::9'), networkOf('2001:db8:1:3::9'));
  assert.equal(networkOf('::ffff:192.0.2.1'), networkOf('192.0.2.1'));
  assert.notEqual(networkOf('192.0.2.1'), networkOf('192.0.2.2'));
  assert.equal(networkOf('a name'), 'a name');
});
