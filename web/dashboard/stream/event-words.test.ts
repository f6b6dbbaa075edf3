import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS } from '#domain/events.ts';
import { eventWords } from './event-words.ts';

test('every event of a stream is a sentence', () => {
  for (const type of Object.keys(EVENTS)) {
    if (!/^(stream|session|publish|access_control|recording|asset)\./.test(type)) continue;
    assert.notEqual(eventWords({ type, payload: {} }).text, type);
  }
});

test('the end of a session says how long it was and why it ended', () => {
  const payload = {
    reason: 'unpublished',
    startedAt: 1000,
    endedAt: 201_000,
    sourceBytes: 64_125_000,
    peakViewers: 17,
  };
  assert.equal(
    eventWords({ type: 'session.ended', payload }).text,
    'The session ended after 3 min 20 s, 64 MB and at most 17 viewers. The encoder stopped.',
  );
});

test('an event of a later version is named as it is', () => {
  assert.deepEqual(eventWords({ type: 'a.new_one', payload: {} }), { text: 'a.new_one', tone: 'plain' });
});
