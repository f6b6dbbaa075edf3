import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { it } from 'node:test';
import { exportedNames } from './exported-names.ts';

const SRC = join(import.meta.dirname, '../../src');

/** Names that several files may export, and why. */
const SHARED: Readonly<Record<string, string>> = {
  kyselyOn: 'each database has one, with the same meaning',
  failureOf: 'each database has one, with the same meaning',
  Failure: 'each database tells its own failures apart',
  LaneOptions: 'each database has lanes of its own',
};

it('no name is exported by two files in src/, so that each has one meaning', () => {
  const files = globSync('**/*.ts', { cwd: SRC, exclude: ['**/*.{test,contract}.ts'] });
  const places = new Map<string, string[]>();
  for (const file of files) {
    const path = file.split(sep).join('/');
    for (const name of exportedNames(path, readFileSync(join(SRC, file), 'utf8'))) {
      places.set(name, [...(places.get(name) ?? []), path]);
    }
  }
  assert.ok(places.size > 500, 'found the names to judge');
  const twice = [...places].filter(([, paths]) => paths.length > 1);
  assert.deepEqual(
    twice.filter(([name]) => SHARED[name] === undefined).map(([name, paths]) => `${name}: ${paths.join(', ')}`),
    [],
  );
  const sharedNames = twice.map(([name]) => name);
  assert.deepEqual(
    Object.keys(SHARED).filter((name) => !sharedNames.includes(name)),
    [],
    'exceptions that are not needed any more',
  );
});

it('the search finds every kind of declaration, and none of another file', () => {
  const source = [
    'export const a = 1, b = 2;',
    'export function c() {}',
    'export class D {}',
    'export interface E {}',
    'export type F = string;',
    'const inner = 3;',
    'export { inner as g };',
    "export type { H } from './h.ts';",
    "export * from './i.ts';",
    'const unexported = 4;',
  ].join('\n');
  assert.deepEqual(exportedNames('a.ts', source), ['a', 'b', 'c', 'D', 'E', 'F', 'g']);
});
