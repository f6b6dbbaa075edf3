import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, inspect } from 'node:util';
import { newPlaybackId, newStreamId } from './ids.ts';
import { newApiKeySecret, newStreamKey, Secret } from './secret.ts';

test('a secret never prints itself', () => {
  const secret = new Secret('hunter2');
  const texts = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ deep: [secret] }),
    format('%s %o %j', secret, secret, secret),
  ];
  for (const text of texts) assert.ok(!text.includes('hunter2') && text.includes('[redacted]'), text);
});

test('secrets are equal by their value', () => {
  assert.ok(new Secret('a').equals(new Secret('a')));
  assert.ok(!new Secret('a').equals(new Secret('b')));
});

test('a stream key has four groups of four and 80 random bits', () => {
  const keys = Array.from({ length: 2000 }, () => newStreamKey().reveal());
  for (const key of keys) assert.match(key, /^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(new Set(keys.join('').replaceAll('-', '')).size, 32, 'every one of the 32 digits is used');
});

test('an API key has at least 128 random bits after its prefix', () => {
  assert.match(newApiKeySecret().reveal(), /^millrace_[A-Za-z0-9_-]{43}$/);
});

test('ids have the shapes the interface promises', () => {
  assert.match(newStreamId(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(newPlaybackId(), /^[0-9a-z]{16}$/);
});
