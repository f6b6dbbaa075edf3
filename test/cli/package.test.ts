import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { npm, pack, unpack } from './installed-package.ts';
import { dataFolder, run, serve } from './millrace.ts';
import { needsOldNode, oldNode } from './old-node.ts';

// `npm run test:installs` installs it, in several ways and on every Node that npm has.

const ROOT = join(import.meta.dirname, '../..');
let folder: string;
let launcher: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-package-'));
  launcher = await unpack(join(folder, 'installed'), await pack(folder));
});
after(() => rm(folder, { recursive: true }));

test('the package with its dependencies works in an empty folder, and contains no tests, benches or sources', async (t) => {
  const { http, child, finished } = await serve(t, { launcher, settings: { DATA_DIR: await dataFolder(t) } });
  assert.equal((await fetch(`${http}/healthz`)).status, 200);
  for (const path of [
    '/',
    '/docs',
    '/docs/start',
    '/docs/introduction',
    '/docs/images/player.png',
    '/api/docs',
    '/api/openapi.json',
  ]) {
    assert.equal((await fetch(http + path)).status, 200, path);
  }
  assert.match(await (await fetch(`${http}/play`)).text(), /Playback id/);
  const element = await fetch(`${http}/play/element.js`);
  assert.equal((await fetch(new URL('hls.mjs', element.url))).status, 200);
  child.kill('SIGTERM');
  const { code, stdout } = await finished;
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /FFmpeg is not installed/);
  const names = await readdir(join(launcher, '../..'), { recursive: true });
  assert.deepEqual(
    names.filter((name) => /\.ts$|\.test\.|^(?:src|test|bench)\b/.test(name)),
    [],
  );
});

test('neither the package, nor the image, nor git takes the file with the password of the database', async (t) => {
  const clone = await dataFolder(t);
  await cp(join(ROOT, 'package.json'), join(clone, 'package.json'));
  await mkdir(join(clone, 'deploy'));
  for (const name of ['.env', 'compose.yaml']) await writeFile(join(clone, 'deploy', name), '');
  const { stdout } = await npm(clone, ['pack', '--dry-run', '--json', '--ignore-scripts']);
  const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }];
  assert.deepEqual(
    files.map(({ path }) => path).filter((path) => path.startsWith('deploy')),
    ['deploy/compose.yaml'],
  );
  for (const name of ['.dockerignore', '.gitignore']) {
    assert.match(await readFile(join(ROOT, name), 'utf8'), /^(?:\*\*\/)?\.env\*$/m, name);
  }
});

test('the server of the package can run from a bundle', async (t) => {
  const { bundleOf } = (await import(join(launcher, '../bundle.js'))) as {
    bundleOf: (main: string, cache: string) => Promise<string | undefined>;
  };
  assert.ok(await bundleOf(join(launcher, '../../dist/cli/main.js'), await dataFolder(t)));
});

test(
  'under a Node that is too old the package says in one sentence what to install, and then runs',
  needsOldNode,
  async (t) => {
    const { code, stdout, stderr } = await run(['serve'], { launcher, node: oldNode! });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    const sentence =
      /^Millrace needs Node 24 or later, and this is Node \d+\.\d+\.\d+: install a newer Node, or run npm install (\S+)@26 here, .*\.\n$/;
    const [, nodePackage] = stderr.match(sentence) ?? assert.fail(stderr);
    // The clone has that package already.
    await symlink(join(ROOT, 'node_modules', nodePackage!), join(launcher, '../../..', nodePackage!));
    const { http } = await serve(t, { launcher, node: oldNode!, settings: { DATA_DIR: await dataFolder(t) } });
    assert.equal((await fetch(`${http}/healthz`)).status, 200);
  },
);

test('the package requires the Node that its launcher needs, and a clone the one that npm needs', async () => {
  const enginesOf = async (path: string) => JSON.parse(await readFile(path, 'utf8')).engines as unknown;
  const [, oldest] = /OLDEST_MAJOR = (\d+);/.exec(await readFile(launcher, 'utf8')) ?? [];
  assert.deepEqual(await enginesOf(join(launcher, '../../package.json')), { node: `>=${oldest}` });
  assert.deepEqual(await enginesOf(join(ROOT, 'package.json')), { node: '>=20' });
});

test(
  'npm ci in a clone prints no warning under a Node that is too old for Millrace itself',
  needsOldNode,
  async (t) => {
    const clone = await dataFolder(t);
    await Promise.all(
      ['package.json', 'package-lock.json', '.npmrc', 'packaging'].map((name) =>
        symlink(join(ROOT, name), join(clone, name)),
      ),
    );
    const { stderr } = await npm(clone, ['ci', '--dry-run', '--offline'], oldNode!);
    assert.doesNotMatch(stderr, /EBADENGINE|install-scripts|deprecated/);
    const { stderr: all } = await npm(clone, ['ci', '--dry-run', '--offline', '--loglevel=warn'], oldNode!);
    assert.doesNotMatch(all, /EBADENGINE +package: 'millrace@/);
  },
);
