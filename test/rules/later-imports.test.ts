import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '../../src');
/** A package that is imported when it is first needed: what is taken of it, and its name. */
const LATER_IMPORT = /(\S[^=\n]*) = await import\('([^#.'][^']*)'\)/g;

test('of a CommonJS package that is imported later, only the default export is used', () => {
  const checked: string[] = [];
  for (const file of globSync('**/*.ts', { cwd: SRC, exclude: ['**/*.test.ts'] })) {
    for (const [, taken = '', name = ''] of readFileSync(join(SRC, file), 'utf8').matchAll(LATER_IMPORT)) {
      if (name.startsWith('node:')) continue;
      checked.push(name);
      const { type } = JSON.parse(readFileSync(findPackageJSON(name, import.meta.url)!, 'utf8')) as { type?: string };
      // The bundle that bin/bundle.js makes has nothing else of such a package.
      assert.ok(type === 'module' || taken.includes('{ default:'), `${file} takes ${taken} from ${name}`);
    }
  }
  assert.ok(checked.includes('jose'), 'the expression finds nothing');
});
