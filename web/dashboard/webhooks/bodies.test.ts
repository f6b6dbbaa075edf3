import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodedBody, prettyJson } from './bodies.ts';

test('bodies are shown as text, whatever they are', () => {
  assert.equal(prettyJson('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(prettyJson('not JSON'), 'not JSON');
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((each) => each.isWellFormed() && !each.startsWith('\ufeff')),
      (text) => decodedBody(Buffer.from(text).toString('base64')) === text,
    ),
  );
  assert.equal(decodedBody('%%%'), '%%%');
});
