import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsGzip } from './content-coding.ts';

test('gzip is sent only to those who take it', () => {
  for (const header of ['gzip', 'gzip, deflate, br', 'br;q=1, GZIP;q=0.1', '*', 'identity, *;q=0.5', ['gzip', 'br']]) {
    assert.equal(acceptsGzip(header), true, String(header));
  }
  for (const header of [undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000, br', '*;q=1, gzip;q=0', 'xgzip']) {
    assert.equal(acceptsGzip(header), false, header ?? 'no header');
  }
});
