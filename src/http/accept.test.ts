import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsGzip, prefersHtml } from './accept.ts';

test('gzip is sent only to clients that accept it', () => {
  for (const header of ['gzip', 'gzip, deflate, br', 'br;q=1, GZIP;q=0.1', '*', 'identity, *;q=0.5', ['gzip', 'br']]) {
    assert.equal(acceptsGzip(header), true, String(header));
  }
  for (const header of [undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000, br', '*;q=1, gzip;q=0', 'xgzip']) {
    assert.equal(acceptsGzip(header), false, header ?? 'no header');
  }
});

test('a page is sent only to clients that prefer HTML to JSON', () => {
  for (const header of [
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'text/html',
    'TEXT/HTML;q=0.1',
    'application/json;q=0.5, text/html',
  ]) {
    assert.equal(prefersHtml(header), true, header);
  }
  for (const header of [
    undefined,
    '',
    '*/*',
    'application/json, text/plain, */*',
    'text/html;q=0',
    'text/html, application/json',
  ]) {
    assert.equal(prefersHtml(header), false, header ?? 'no header');
  }
});
