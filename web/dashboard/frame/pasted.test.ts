import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastedId } from './pasted.ts';

test('an id is found in whatever it was copied with', () => {
  for (const [text, id] of [
    ['66e2161c-7670-4d05-b71d-da2d6979556f', '66e2161c-7670-4d05-b71d-da2d6979556f'],
    [' "66E2161C-7670-4d05-b71d-da2d6979556f",', '66e2161c-7670-4d05-b71d-da2d6979556f'],
    ['rtmp://localhost/live/7f3q-x0m2-9kdp-4rtz', '7f3q-x0m2-9kdp-4rtz'],
    ['https://live.example.com/hls/5v8c2hq0jn6t1wkz/index.m3u8', '5v8c2hq0jn6t1wkz'],
    ['https://live.example.com/play/5v8c2hq0jn6t1wkz#jwt=a.b.c', '5v8c2hq0jn6t1wkz'],
    ['the evening show', undefined],
    ['5v8c2hq0jn6t1wkzz', undefined],
  ] as const) {
    assert.equal(pastedId(text), id, text);
  }
});
