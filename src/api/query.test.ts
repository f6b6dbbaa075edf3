import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readFlag, readInteger, readText } from './query.ts';

const invalid = { code: 'invalid_request' };

test('a parameter is read as text, and refused when it is given twice', () => {
  assert.equal(readText({ a: '' }, 'a'), '');
  assert.equal(readText({}, 'a'), undefined);
  assert.equal(readText({}, 'toString'), undefined, 'an inherited property is not a parameter');
  assert.throws(() => readText({ a: ['x', 'y'] }, 'a'), invalid);
});

test('a flag must be 1, true, 0 or false', () => {
  assert.deepEqual(
    ['1', 'true', '0', 'false'].map((a) => readFlag({ a }, 'a')),
    [true, true, false, false],
  );
  assert.equal(readFlag({}, 'a'), undefined);
  for (const a of ['', 'TRUE', 'yes', ' 1', '01', 'null']) assert.throws(() => readFlag({ a }, 'a'), invalid, a);
});

test('a whole number must be written in plain digits and lie between its bounds', () => {
  const bounds = { min: 1, max: 1000 };
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: -10, max: 2000 }).map(String), fc.string()), (a) => {
      const value = Number(a);
      const isRight = /^\d+$/.test(a) && a.length <= 16 && value >= 1 && value <= 1000;
      if (isRight) assert.equal(readInteger({ a }, 'a', bounds), value);
      else assert.throws(() => readInteger({ a }, 'a', bounds), invalid);
    }),
    { examples: [['1e2'], ['0x10'], ['2.5'], [''], [' 2'], ['1000'], ['1001']] },
  );
});

test('no error repeats a value', () => {
  const a = 'secret-value';
  for (const read of [() => readFlag({ a }, 'a'), () => readInteger({ a }, 'a', { min: 0, max: 1 })]) {
    assert.throws(read, (error: Error) => !error.message.includes(a));
  }
});
