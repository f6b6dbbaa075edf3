/**
 * Makes the plain JavaScript that the npm package ships, because Node does not strip types from files below `node_modules`. A clone needs
 * no such build.
 *
 * `node packaging/build.ts` writes `dist/`, one file for each source file, with the same line numbers, so that a stack leads to the source. The dashboard is
 * bundled into `dist/dashboard/files/`.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleFiles } from '#dashboard/bundler/bundle-files.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');
const TARGET = join(ROOT, 'dist');
/** The names of tests, and of suites that tests share. */
const TESTS = /\.(?:test|contract)\.ts$/;
/** The name of another source file, in an import or for a worker. */
const SOURCE_NAME = /'([^'\n]+)\.ts'/g;

rmSync(TARGET, { recursive: true, force: true });
for (const name of globSync('**/*.ts', { cwd: SOURCE })) {
  if (TESTS.test(name) || name.startsWith('store/contract/')) continue;
  const target = join(TARGET, name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  const text = stripTypeScriptTypes(readFileSync(join(SOURCE, name), 'utf8'));
  // Removes the blanks that stripped types leave at the ends of lines.
  writeFileSync(target, text.replace(/[ \t]+$/gm, '').replace(SOURCE_NAME, "'$1.js'"));
}

const dashboard = join(TARGET, 'dashboard/files');
mkdirSync(dashboard, { recursive: true });
for (const [name, bytes] of await bundleFiles()) writeFileSync(join(dashboard, name), bytes);
