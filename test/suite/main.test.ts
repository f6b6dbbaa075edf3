import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

/** Files that pass, that fail in every way, and nothing that ends its process. */
const ENDING: Readonly<Record<string, string>> = {
  'src/a.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
  'src/c.test.ts': `throw new Error('not loaded');`,
  'src/d.test.ts': `import { after, test } from 'node:test'; after(() => { throw new Error('in a hook'); }); test('passes', () => {});`,
  'src/e.test.ts': `import { before, test } from 'node:test'; before(() => { throw new Error('in a hook'); }); test('fails', () => {});`,
  'test/e2e/f.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
  'web/i.test.ts': `import { test } from 'node:test'; test('passes', () => {});`,
};
/** Files that never end, in a test and in a hook, and one that ends its process. */
const NOT_ENDING: Readonly<Record<string, string>> = {
  'src/b.test.ts': `import { test } from 'node:test'; test('never ends', () => new Promise(() => setInterval(() => {}, 1000)));`,
  'src/g.test.ts': `import { after, test } from 'node:test'; after(() => new Promise(() => setInterval(() => {}, 1000))); test('passes', () => {});`,
  'src/h.test.ts': `import { test } from 'node:test'; test('ends the process', () => process.exit(0));`,
};

/** Runs these files in a folder of their own. Each notes its name when it is run. */
function runSuite(files: Readonly<Record<string, string>>) {
  using root = mkdtempDisposableSync(join(tmpdir(), 'millrace-suite-'));
  const suite = join(root.path, 'test/suite');
  mkdirSync(suite, { recursive: true });
  for (const name of readdirSync(import.meta.dirname)) {
    if (!name.endsWith('.test.ts')) cpSync(join(import.meta.dirname, name), join(suite, name));
  }
  const log = join(root.path, 'ran');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root.path, name, '..'), { recursive: true });
    const note = `import { appendFileSync } from 'node:fs'; appendFileSync(${JSON.stringify(log)}, '${name}\\n');`;
    writeFileSync(join(root.path, name), `${note} ${text}`);
  }
  writeFileSync(join(root.path, 'package.json'), '{ "type": "module" }');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(suite, 'main.ts')], {
    env: { ...env, MILLRACE_TEST_FILE_LIMIT_MS: '15000', MILLRACE_TEST_PROCESSES: '6' },
    encoding: 'utf8',
  });
  const ran = readFileSync(log, 'utf8').trim().split('\n').sort();
  return { status, stdout, stderr, ran };
}

it('runs each file once, and reports those that fail in a test, in a hook or when they are loaded', () => {
  const { status, stdout, ran } = runSuite(ENDING);
  assert.equal(status, 1);
  assert.deepEqual(ran, Object.keys(ENDING).sort());
  const report = stdout.slice(0, stdout.indexOf('failing tests:'));
  const ends = [...report.matchAll(/^([✔✖]) (\S+\.test\.ts) /gm)].map(([, mark, file]) => `${mark} ${file}`).sort();
  assert.deepEqual(ends, [
    '✔ src/a.test.ts',
    '✔ test/e2e/f.test.ts',
    '✔ web/i.test.ts',
    '✖ src/c.test.ts',
    '✖ src/d.test.ts',
    '✖ src/e.test.ts',
  ]);
});

it('runs each file once although others never end or end their process, and names those', () => {
  const files = { ...ENDING, ...NOT_ENDING };
  const { status, stdout, stderr, ran } = runSuite(files);
  assert.equal(status, 1);
  assert.deepEqual(ran, Object.keys(files).sort());
  for (const file of ['b', 'g']) {
    assert.match(stdout + stderr, new RegExp(`src/${file}\\.test\\.ts did not end within 15 s`));
  }
  assert.match(stderr, /These files did not finish: src\/b\.test\.ts, src\/g\.test\.ts, src\/h\.test\.ts/);
});
