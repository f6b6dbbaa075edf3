import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnswerKind, cacheControlFor, sharedMaxAgeMs } from './caching.ts';

test('every kind of answer may be cached for as many target durations as Appendix B.1 says', () => {
  const expected: Record<AnswerKind, string> = {
    blocking_playlist: 'max-age=0, s-maxage=24',
    playlist: 'max-age=0, s-maxage=2',
    thumbnail: 'max-age=5',
    media: 'max-age=24, immutable',
    recorded_media: 'max-age=86400, immutable',
    recorded_file: 'max-age=60',
    restricted: 'private, no-store',
    unshared: 'no-store',
  };
  const cacheControl = cacheControlFor(4);
  for (const [kind, value] of Object.entries(expected)) assert.equal(cacheControl(kind as AnswerKind), value, kind);
});

test('a short target duration still allows caches a whole second', () => {
  assert.equal(cacheControlFor(1)('playlist'), 'max-age=0, s-maxage=1');
});

test('the time that an answer of another node may be kept is read from its header', () => {
  for (const [header, ms] of [
    ['max-age=24, immutable', 24_000],
    ['public,max-age=2', 2000],
    ['max-age=0, s-maxage=24', 24_000],
    ['s-maxage=0,max-age=5', 0],
    ['no-store', 0],
    ['s-max-age=5', 0],
    ['', 0],
  ] as const) {
    assert.equal(sharedMaxAgeMs(header), ms, header);
  }
});
