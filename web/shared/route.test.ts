import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchRoute } from './route.ts';

test('a path matches the pattern with as many segments', () => {
  assert.deepEqual(matchRoute('/', '/'), {});
  assert.deepEqual(matchRoute('/streams', '/streams'), {});
  assert.deepEqual(matchRoute('/streams/:id', '/streams/a%20b'), { id: 'a b' });
  assert.deepEqual(matchRoute('/streams/:id', '/streams/%'), { id: '%' }, 'a broken escape is text');
  for (const path of ['/', '/streams', '/streams/', '/streams/x/y', '/sessions/x']) {
    assert.equal(matchRoute('/streams/:id', path), undefined, path);
  }
});
