import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

/** Files of every kind that ends badly, between files that pass. */
const FILES: Readonly<Record<string, string>> = {
  'src/a.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
  'src/b.test.ts': `import { test } from 'node:test'; test('never ends', () => new Promise(() => setInterval(() => {}, 1000)));`,
  'src/c.test.ts': `throw new Error('not loaded');`,
  'src/d.test.ts': `import { after, test } from 'node:test'; after(() => { throw new Error('in a hook'); }); test('passes', () => {});`,
  'src/e.test.ts': `import { before, test } from 'node:test'; before(() => { throw new Error('in a hook'); }); test('fails', () => {});`,
  'test/e2e/f.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
  'src/g.test.ts': `import { after, test } from 'node:test'; after(() => new Promise(() => setInterval(() => {}, 1000))); test('passes', () => {});`,
  'src/h.test.ts': `import { test } from 'node:test'; test('ends the process', () => process.exit(0));`,
  'web/i.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
};

it('runs every file, whatever happens in others, and names those that do not finish', () => {
  using root = mkdtempDisposableSync(join(tmpdir(), 'millrace-suite-'));
  const suite = join(root.path, 'test/suite');
  mkdirSync(suite, { recursive: true });
  for (const name of readdirSync(import.meta.dirname)) {
    if (!name.endsWith('.test.ts')) cpSync(join(import.meta.dirname, name), join(suite, name));
  }
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(join(root.path, name, '..'), { recursive: true });
    writeFileSync(join(root.path, name), text);
  }
  writeFileSync(join(root.path, 'package.json'), '{ "type": "module" }');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(suite, 'main.ts')], {
    env: { ...env, MILLRACE_TEST_FILE_LIMIT_MS: '15000', MILLRACE_TEST_PROCESSES: '6' },
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  const report = stdout.slice(0, stdout.indexOf('failing tests:'));
  const ends = [...report.matchAll(/^([✔✖]) (\S+\.test\.ts) /gm)].map(([, mark, file]) => `${mark} ${file}`).sort();
  // What a process reported before one of its files hung or ended it may be lost with it.
  const possible = [
    '✔ src/a.test.ts',
    '✔ test/e2e/f.test.ts',
    '✔ web/i.test.ts',
    '✖ src/c.test.ts',
    '✖ src/d.test.ts',
    '✖ src/e.test.ts',
  ];
  assert.deepEqual(
    ends.filter((end) => !possible.includes(end)),
    [],
  );
  assert.doesNotMatch(stderr, /were not run/);
  for (const file of ['b', 'g'])
    assert.match(stdout + stderr, new RegExp(`src/${file}\\.test\\.ts did not end within 15 s`));
  assert.match(stderr, /These files did not finish: src\/b\.test\.ts, src\/g\.test\.ts, src\/h\.test\.ts/);
});
