import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasAlready } from './entity-tag.ts';

test('an entity tag matches whether it is strong or weak, alone or in a list', () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*', ' "a" ']) {
    assert.equal(hasAlready(header, '"a"'), true, header);
  }
  for (const header of [undefined, '', '"b"', 'a', '"A"', 'w/"a"', '"a'])
    assert.equal(hasAlready(header, '"a"'), false);
});
