import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, fieldOf } from './errors.ts';

test('the field that a sentence of the API is about is found', () => {
  assert.equal(fieldOf('The field name is missing; send text of 1 to 512 characters.'), 'name');
  assert.equal(fieldOf('The field profiles[3].width must be pixels.'), 'profiles[3].width');
  assert.equal(fieldOf('The query parameter limit must be a number.'), 'limit');
  assert.equal(fieldOf('You have no stream with this id.'), undefined);
  assert.equal(new ApiError(422, 'invalid_body', 'The field name must be text.').field, 'name');
});
