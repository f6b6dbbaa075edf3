import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnswerKind, cacheControlFor } from './caching.ts';

test('every kind of answer is kept as long as Appendix B.1 says, in target durations', () => {
  const expected: Record<AnswerKind, string> = {
    blocking_playlist: 'max-age=24',
    blocking_playlist_error: 'max-age=16',
    playlist: 'max-age=2',
    playlist_error: 'max-age=4',
    thumbnail: 'max-age=5',
    media: 'max-age=24, immutable',
    media_error: 'max-age=4',
    offline: 'max-age=1',
    moment: 'no-store',
  };
  const cacheControl = cacheControlFor(4);
  for (const [kind, value] of Object.entries(expected)) assert.equal(cacheControl(kind as AnswerKind), value, kind);
});

test('a short target duration still leaves a whole second to caches', () => {
  assert.equal(cacheControlFor(1)('playlist'), 'max-age=1');
});
