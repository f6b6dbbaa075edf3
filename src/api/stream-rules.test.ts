import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_PROFILES } from '#domain/profile.ts';
import { storedFields, userTagsProblem } from './stream-rules.ts';

test('only fields that were sent are stored, and null profiles become the defaults', () => {
  assert.deepEqual(storedFields({}, DEFAULT_PROFILES), {});
  assert.deepEqual(storedFields({ profiles: null, record: false }, DEFAULT_PROFILES), {
    profiles: DEFAULT_PROFILES,
    record: false,
  });
  assert.deepEqual(storedFields({ profiles: [] }, DEFAULT_PROFILES), { profiles: [] });
});

test('a creator may be sent as text or in the form in which answers show it', () => {
  assert.deepEqual(storedFields({ creatorId: 'x' }, []), { creatorId: 'x' });
  assert.deepEqual(storedFields({ creatorId: { value: 'x' } }, []), { creatorId: 'x' });
});

test('tags may be text, numbers and lists of both', () => {
  assert.equal(userTagsProblem({ show: 'evening', season: 3, hosts: ['ann', 'bob', 2], none: [] }), undefined);
  for (const value of [true, null, {}, [[1]], [null], undefined, 'a\0b', '\ud800', Number.POSITIVE_INFINITY]) {
    assert.match(userTagsProblem({ tag: value }) ?? '', /^The field userTags may hold only/, JSON.stringify(value));
  }
  assert.match(userTagsProblem({ 'a\0b': 1 }) ?? '', /^The field userTags may hold/);
});

test('tags have at most 2048 characters as JSON', () => {
  const tags = (length: number) => ({ t: 'x'.repeat(length - '{"t":""}'.length) });
  assert.equal(userTagsProblem(tags(2048)), undefined);
  assert.match(userTagsProblem(tags(2049)) ?? '', /more than 2048 characters/);
});

test('a body that breaks the rules of profiles and tags is refused', () => {
  const profile = { name: 'source', bitrate: 1000, fps: 30, width: 640, height: 360 };
  assert.throws(() => storedFields({ profiles: [profile] }, []), { code: 'invalid_body' });
  assert.throws(() => storedFields({ userTags: { a: {} } as never }, []), { code: 'invalid_body' });
});
