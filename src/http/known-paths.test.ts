import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownPaths } from './known-paths.ts';

test('a path takes the methods of every route that matches it', () => {
  const paths = new KnownPaths();
  paths.add('/stream', 'GET');
  paths.add('/stream', ['POST']);
  paths.add('/stream/:id', ['PATCH', 'GET']);
  paths.add('/stream/:id/sessions', 'GET');
  paths.add('/task/*', ['GET']);
  paths.add('*', 'OPTIONS');
  paths.add('/', 'GET');
  for (const [path, methods] of [
    ['/stream', ['GET', 'POST']],
    ['/stream/', ['GET', 'POST']],
    ['/stream?limit=1&cursor=/a/b', ['GET', 'POST']],
    ['/stream/7', ['GET', 'PATCH']],
    ['/stream//', []],
    ['/stream/7/sessions', ['GET']],
    ['/stream/7/other', []],
    ['/task', []],
    ['/task/1', ['GET']],
    ['/task/1/2', ['GET']],
    ['/', ['GET']],
    ['/nothing', []],
    ['', ['GET']],
  ] as const) {
    assert.deepEqual(paths.methodsOf(path), methods, path);
  }
});
