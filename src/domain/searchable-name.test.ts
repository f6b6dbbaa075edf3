import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchableName } from './searchable-name.ts';

test('names that differ in letter case, or in how accents are encoded, are the same', () => {
  for (const [one, other] of [
    ['Morning Show', 'mORNING sHOW'],
    ['Straße', 'STRASSE'],
    ['ΟΔΟΣ', 'οδος'],
    ['Äther', 'a\u0308ther'],
    ['Žluťoučký', 'žLUŤOUČKÝ'],
  ] as const) {
    assert.equal(searchableName(one), searchableName(other));
  }
  assert.notEqual(searchableName('a'), searchableName('ä'));
});

test('the longest name fits in an index of PostgreSQL, and stays well-formed where it is cut', () => {
  for (const character of ['x', '\u0390', '\u{1F3A5}', 'ﬃ', '\uFFFD']) {
    const searchable = searchableName(`x${character.repeat(511)}`);
    assert.ok(Buffer.byteLength(searchable) <= 2400, character);
    assert.ok(searchable.isWellFormed(), character);
  }
});
