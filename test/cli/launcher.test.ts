import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
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

test('without a Node that can run it, one sentence says what to do', needsOldNode, async (t) => {
  const copy = await dataFolder(t);
  await mkdir(join(copy, 'bin'));
  await cp(join(ROOT, 'bin/millrace.js'), join(copy, 'bin/millrace.js'));
  await cp(join(ROOT, 'package.json'), join(copy, 'package.json'));
  const { status, stderr } = spawnSync(oldNode!, [join(copy, 'bin/millrace.js')], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /^Millrace needs Node 24 or later, and this is \d+\.\d+\.\d+: .*npm ci\.\n$/);
});

test('the launcher works through a link, as npm makes one', async (t) => {
  const link = join(await dataFolder(t), 'millrace');
  await symlink(join(ROOT, 'bin/millrace.js'), link);
  assert.match(execFileSync(process.execPath, [link, '--help'], { encoding: 'utf8' }), /^millrace: /);
});
