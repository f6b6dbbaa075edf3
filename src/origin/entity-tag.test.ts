import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasAlready } from './entity-tag.ts';

test('a viewer has what its tags name, weakened or not, one or many', () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*', ' "a" ']) {
    assert.equal(hasAlready(header, '"a"'), true, header);
  }
  for (const header of [undefined, '', '"b"', 'a', '"A"', 'w/"a"', '"a'])
    assert.equal(hasAlready(header, '"a"'), false);
});
