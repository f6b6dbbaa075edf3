import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originOf } from './origin-of.ts';

test('only a URL that is a plain origin is accepted', () => {
  for (const text of ['http://10.0.0.5:8080', 'https://node-1.example.com', 'http://[::1]:8080', 'http://a/']) {
    assert.equal(originOf(text), new URL(text).origin);
  }
  for (const text of ['', 'a', 'ftp://a', 'http://a/b', 'http://a?b', 'http://a#b', 'http://b:c@a', 'file:///etc']) {
    assert.equal(originOf(text), undefined, text);
  }
});
