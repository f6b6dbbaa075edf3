import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Secret } from '#domain/secret.ts';
import { openAnswer, type SealingKeys, sealAnswer } from './sealed-answer.ts';

const keys: SealingKeys = { apiKey: new Secret('millrace_a'), idempotencyKey: 'k', request: 'POST /stream' };

test('an answer opens as it was, with the same keys', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 200, max: 299 }),
      fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
      (status, text) => {
        assert.deepEqual(openAnswer(sealAnswer({ status, text }, keys), keys), { status, text });
      },
    ),
    { numRuns: 50 },
  );
});

test('a sealed answer opens with no other key, and for no other request', () => {
  const sealed = sealAnswer({ status: 201, text: '{"key":"secret"}' }, keys);
  for (const other of [
    { ...keys, apiKey: new Secret('millrace_b') },
    { ...keys, idempotencyKey: 'l' },
    { ...keys, request: 'POST /user' },
  ]) {
    assert.throws(() => openAnswer(sealed, other));
  }
});

test('a damaged or shortened sealed answer does not open', () => {
  const sealed = Buffer.from(sealAnswer({ status: 201, text: '{}' }, keys), 'base64url');
  for (let index = 0; index < sealed.length; index += 1) {
    const damaged = Buffer.from(sealed);
    damaged[index]! ^= 1;
    assert.throws(() => openAnswer(damaged.toString('base64url'), keys), `byte ${index}`);
    assert.throws(() => openAnswer(sealed.subarray(0, index).toString('base64url'), keys), `length ${index}`);
  }
});

test('sealing an answer twice gives different texts, which do not contain the answer', () => {
  const answer = { status: 201, text: '{"key":"millrace_new"}' };
  const [first, second] = [sealAnswer(answer, keys), sealAnswer(answer, keys)];
  assert.notEqual(first, second);
  assert.ok(!Buffer.from(first, 'base64url').includes('millrace'));
});
