import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { curlOf } from './curl.ts';

test('a shell reads back the body as it was, whatever is in it', () => {
  const text = fc
    .string({ unit: 'binary', maxLength: 20 })
    .filter((each) => !each.includes('\0') && each.isWellFormed());
  fc.assert(
    fc.property(text, (name) => {
      const command = curlOf('http://x/api', 'POST', '/stream', { name }).replace('curl', 'printf "%s\\n"');
      const said = execFileSync('sh', ['-c', command], { env: { KEY: 'k' } }).toString();
      assert.ok(said.includes(`${JSON.stringify({ name })}\n`), said);
    }),
    { numRuns: 20 },
  );
});
