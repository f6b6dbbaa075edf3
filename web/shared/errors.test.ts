import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, fieldOf, isFinal } from './errors.ts';

test('the field that a sentence of the API is about is found', () => {
  assert.equal(fieldOf('The field name is missing; send text of 1 to 512 characters.'), 'name');
  assert.equal(fieldOf('The field profiles[3].width must be pixels.'), 'profiles[3].width');
  assert.equal(fieldOf('The query parameter limit must be a number.'), 'limit');
  assert.equal(fieldOf('You have no stream with this id.'), undefined);
  assert.equal(new ApiError(422, 'invalid_body', 'The field name must be text.').field, 'name');
});

test('what is gone or forbidden is final, and what is busy, full or not answered by the service is not', () => {
  const error = (status: number, code: string) => new ApiError(status, code, 'The sentence.');
  assert.deepEqual([error(404, 'not_found'), error(403, 'insufficient_scope')].map(isFinal), [true, true]);
  const passing = [
    error(404, 'unknown'),
    error(403, 'quota_exceeded'),
    error(403, 'user_suspended'),
    error(0, 'unreachable'),
  ];
  assert.ok(![...passing, undefined, new TypeError('failed')].some(isFinal));
});
