/**
 * Tests sessions of several users that share the media memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMediaMemory } from '#hls/media-memory.ts';
import { audioTrack, Feed, videoTrack } from '../support/hls-feed.ts';

const both = { video: videoTrack(), audio: audioTrack() };
const UNLIMITED = Number.POSITIVE_INFINITY;

test('large sessions of one user end before a session of another user within its share loses anything', async () => {
  const memory = createMediaMemory(8_000_000);
  const feedOf = (id: string, frameBytes: number) =>
    new Feed({ ...both, frameBytes, presentation: { memory, memoryUser: { id, quotaBytes: UNLIMITED } } });
  const fat = Array.from({ length: 4 }, () => feedOf('fat', 2000));
  const small = feedOf('small', 500);
  const alone = new Feed({ ...both, frameBytes: 500 });
  for (let second = 0; second < 150; second++) for (const feed of [...fat, small, alone]) feed.play(1);
  assert.ok(fat.some(({ exhausted }) => exhausted === 1));
  assert.equal(small.exhausted, 0);
  assert.equal(
    memory.usedBy('small'),
    alone.options.memory.usedBytes,
    'it keeps as much as it keeps without other sessions',
  );
  assert.ok(memory.usedBytes <= memory.limitBytes);
});

test('a session that had to make room for another is closed, and reports it once', async () => {
  const memory = createMediaMemory(1_000_000);
  const feedOf = (id: string, frameBytes: number) =>
    new Feed({ ...both, frameBytes, presentation: { memory, memoryUser: { id, quotaBytes: UNLIMITED } } });
  const fat = feedOf('fat', 1000);
  fat.play(28);
  const small = feedOf('small', 500);
  small.play(24);
  assert.deepEqual([fat.exhausted, small.exhausted], [1, 0]);
  assert.equal(memory.usedBy('fat'), 0);
  assert.equal((await fat.media('source', '0.m4s'))?.type, 'not_found');
  fat.play(5);
  assert.equal(fat.exhausted, 1);
});
