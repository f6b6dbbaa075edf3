/**
 * Checks that an exported name has one meaning in each program. What browsers load (`web/`) is a program of its own: it imports only
 * types of `src/`, and is bundled or served apart, so a name may mean something else there. `DAY_MS` is in both, for example.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { it } from 'node:test';
import { exportedNames } from './exported-names.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Names that several files of `src/` may export, and why. */
const SHARED: Readonly<Record<string, string>> = {
  kyselyOn: 'each database has one, with the same meaning',
  failureOf: 'each database has one, with the same meaning',
  Failure: 'each database tells its own failures apart',
  LaneOptions: 'each database has lanes of its own',
};

for (const [folder, least, shared] of [
  ['src', 500, SHARED],
  ['web', 200, {}],
] as const) {
  it(`no name is exported by two files in ${folder}/, so that each has one meaning there`, () => {
    const cwd = join(ROOT, folder);
    const places = new Map<string, string[]>();
    for (const file of globSync('**/*.{ts,tsx,js}', { cwd, exclude: ['**/*.{test,contract}.ts'] })) {
      const path = file.split(sep).join('/');
      for (const name of exportedNames(path, readFileSync(join(cwd, file), 'utf8'))) {
        places.set(name, [...(places.get(name) ?? []), path]);
      }
    }
    assert.ok(places.size > least, 'found the names to judge');
    const twice = [...places].filter(([, paths]) => paths.length > 1);
    assert.deepEqual(
      twice.filter(([name]) => !Object.hasOwn(shared, name)).map(([name, paths]) => `${name}: ${paths.join(', ')}`),
      [],
      `rename one of each in ${folder}/; the names of the other program do not count`,
    );
    const sharedNames = twice.map(([name]) => name);
    assert.deepEqual(
      Object.keys(shared).filter((name) => !sharedNames.includes(name)),
      [],
      'exceptions that are not needed any more',
    );
  });
}

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
