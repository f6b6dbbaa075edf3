/**
 * Makes the plain JavaScript that the npm package ships: Node strips no types from files below `node_modules`. A clone needs none of it.
 *
 * `node packaging/build.ts` writes `dist/`, one file for each source file, with the same lines, so that a stack leads to the source.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');
const TARGET = join(ROOT, 'dist');
/** Tests, and the suites that tests share. */
const TESTS = /\.(?:test|contract)\.ts$/;
/** The name of another source file: an import's, or a worker's. */
const SOURCE_NAME = /'([^'\n]+)\.ts'/g;

rmSync(TARGET, { recursive: true, force: true });
for (const name of globSync('**/*.ts', { cwd: SOURCE })) {
  if (TESTS.test(name) || name.startsWith('store/contract/')) continue;
  const target = join(TARGET, name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  const text = stripTypeScriptTypes(readFileSync(join(SOURCE, name), 'utf8'));
  // Types leave blanks behind, which the lines do not need.
  writeFileSync(target, text.replace(/[ \t]+$/gm, '').replace(SOURCE_NAME, "'$1.js'"));
}
