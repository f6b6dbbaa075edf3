import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastedId, pastedName } from './pasted.ts';

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

test('what may be a secret is not searched for as a name', () => {
  for (const [text, name] of [
    ['the evening show', 'the evening show'],
    ['Show #3', 'Show #3'],
    ['#general', '#general'],
    ['A/B test', 'A/B test'],
    ['camera-66e2161c-7670-4d05-b71d-da2d6979556f', 'camera-66e2161c-7670-4d05-b71d-da2d6979556f'],
    ['5v8c2hq0jn6t1wkz', '5v8c2hq0jn6t1wkz'],
    ['7F3Q-x0m2-9kdp-4rtz', ''],
    ['key: 7f3q-x0m2-9kdp-4rtz ', ''],
    [`millrace_${'aB-_'.repeat(10)}aB-`, ''],
    ['rtmp://localhost/live/key of another service', ''],
    ['https://live.example.com/play/5v8c2hq0jn6t1wkz?jwt=a.b.c', ''],
    ['live.example.com/play/5v8c2hq0jn6t1wkz?jwt=a.b.c', ''],
    ['live.example.com/play/5v8c2hq0jn6t1wkz?accessKey=secret', ''],
    ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJpZCJ9.c2lnbmF0dXJl', ''],
    ['/dashboard/sign-in#the-secret', ''],
    [`sign-in#${'aB-_'.repeat(10)}`, ''],
    [`#${'aB-_'.repeat(10)}\nthe rest`, ''],
    ['#jwt=a.b.c', ''],
  ] as const) {
    assert.equal(pastedName(text), name, text);
  }
});
