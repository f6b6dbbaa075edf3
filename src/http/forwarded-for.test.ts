import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forwardedAddresses } from './forwarded-for.ts';

test('addresses are read with and without ports', () => {
  for (const [header, ...addresses] of [
    ['198.51.100.7', '198.51.100.7'],
    ['198.51.100.7:51234', '198.51.100.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['::ffff:198.51.100.7,10.0.0.1:80 ,  10.0.0.2', '::ffff:198.51.100.7', '10.0.0.1', '10.0.0.2'],
  ] as const) {
    assert.deepEqual(forwardedAddresses(header), addresses, header);
  }
});

test('an entry that is no address is left out, with everything before it', () => {
  for (const [header, ...addresses] of [
    [''],
    ['unknown'],
    ['198.51.100.7, unknown'],
    ['198.51.100.7, _hidden, 10.0.0.1', '10.0.0.1'],
    ['198.51.100.7:, 10.0.0.1', '10.0.0.1'],
    ['[198.51.100, 10.0.0.1', '10.0.0.1'],
  ] as const) {
    assert.deepEqual(forwardedAddresses(header), addresses, header);
  }
});
