import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnswerKind, cacheControlFor, maxAgeMs } from './caching.ts';

test('every kind of answer is kept as long as Appendix B.1 says, in target durations', () => {
  const expected: Record<AnswerKind, string> = {
    blocking_playlist: 'max-age=24',
    playlist: 'max-age=2',
    thumbnail: 'max-age=5',
    media: 'max-age=24, immutable',
    unshared: 'no-store',
  };
  const cacheControl = cacheControlFor(4);
  for (const [kind, value] of Object.entries(expected)) assert.equal(cacheControl(kind as AnswerKind), value, kind);
});

test('a short target duration still leaves a whole second to caches', () => {
  assert.equal(cacheControlFor(1)('playlist'), 'max-age=1');
});

test('how long an answer of another node may be kept is read from its header', () => {
  for (const [header, ms] of [
    ['max-age=24, immutable', 24_000],
    ['public,max-age=2', 2000],
    ['no-store', 0],
    ['s-max-age=5', 0],
    ['', 0],
  ] as const) {
    assert.equal(maxAgeMs(header), ms, header);
  }
});
