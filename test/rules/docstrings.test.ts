import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');
/** A docstring right after another one. A `@typedef` is none of these: in JavaScript files, type definitions precede other docstrings. */
const TWO = /^\s*\/\*\*(?:(?!@typedef|\*\/)[\s\S])*\*\/\n\s*\/\*\*/gm;

test('no declaration has two docstrings, which a merge can leave', () => {
  const files = globSync(['{src,test,bench,docs,packaging,web}/**/*.{ts,tsx,js}'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  });
  assert.ok(files.length > 500, `${files.length} files were found`);
  const found = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return [...text.matchAll(TWO)].flatMap(({ index }) => {
      const before = text.slice(0, index);
      // The comment at the head of a file may be followed by that of its first declaration.
      return /^[a-z]/m.test(before) ? [`${file}:${before.split('\n').length + 1}`] : [];
    });
  });
  assert.deepEqual(found, []);
});
