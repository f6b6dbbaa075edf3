import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { dataFolder, run, serve } from './millrace.ts';
import { needsOldNode, oldNode } from './old-node.ts';

const ROOT = join(import.meta.dirname, '../..');

const npm = (folder: string, ...args: string[]) =>
  promisify(execFile)('npm', args, { cwd: folder, maxBuffer: 16 * 1024 * 1024 });

/** Installs the package, as npm would publish it, into an empty folder. @returns the path of its launcher */
async function installed(folder: string, ...options: string[]): Promise<string> {
  await npm(ROOT, 'pack', '--ignore-scripts=false', '--pack-destination', folder);
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await npm(folder, 'install', '--prefer-offline', '--omit=dev', '--ignore-scripts', ...options, `./${tarball}`);
  return join(folder, 'node_modules/millrace/bin/millrace.js');
}

test('the package installed into an empty folder serves, and holds no tests, benches or sources', async (t) => {
  const folder = await dataFolder(t);
  const launcher = await installed(folder);
  const { http, child, finished } = await serve(t, { launcher, settings: { DATA_DIR: join(folder, 'data') } });
  assert.equal((await fetch(`${http}/healthz`)).status, 200);
  assert.equal((await fetch(`${http}/play/0123456789abcdef`)).status, 200);
  child.kill('SIGTERM');
  assert.equal((await finished).code, 0);
  const names = await readdir(join(folder, 'node_modules/millrace'), { recursive: true });
  assert.deepEqual(
    names.filter((name) => /\.ts$|\.test\.|^(?:src|test|bench|docs)\b/.test(name)),
    [],
  );
});

test('under a Node that is too old the package says in one sentence which Node it needs', needsOldNode, async (t) => {
  const launcher = await installed(await dataFolder(t), '--omit=optional');
  const { code, stdout, stderr } = await run(['serve'], { launcher, node: oldNode! });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^Millrace needs Node 24 or later, and this is \d+\.\d+\.\d+: install a newer Node\..*\n$/);
});
