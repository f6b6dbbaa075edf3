import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { defaultNodeUrl } from './node-url.ts';

test('the URL of a node has the address it listens on, or its host name when it listens on all addresses', () => {
  const urlOf = (host: string) => defaultNodeUrl({ host, port: 8080, secure: false });
  assert.equal(urlOf('127.0.0.1'), 'http://127.0.0.1:8080');
  assert.equal(urlOf('::1'), 'http://[::1]:8080');
  assert.equal(urlOf('0.0.0.0'), `http://${hostname()}:8080`);
  assert.equal(defaultNodeUrl({ host: '::', port: 1, secure: true }), `https://${hostname()}:1`);
});
