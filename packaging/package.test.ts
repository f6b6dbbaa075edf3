/**
 * Installs the npm package in each way that npm offers and runs it on each Node that npm has. Needs a registry for what is not in npm's
 * cache: five installations of up to 300 MB and four Nodes. Run by `npm run test:installs`; `test/cli/package.test.ts` is the short form.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Installation, install, npm, pack } from '#test/cli/installed-package.ts';
import { dataFolder, run, serve } from '#test/cli/millrace.ts';
import { ApiClient } from '#test/support/api-client.ts';
import { startPublisher } from '#test/support/publisher.ts';
import { runUntilReady } from '#test/support/shell.ts';
import { blocksRunBy } from '#test/support/shell-blocks.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { folderMib } from './folder-size.ts';

/** The options of each way to install, and whether it installs FFmpeg. */
const WAYS: readonly (readonly [options: readonly string[], hasFfmpeg: boolean])[] = [
  [[], true],
  [['--omit=dev'], true],
  [['--ignore-scripts'], true],
  [['--omit=optional'], false],
  [['--omit=dev', '--omit=optional', '--ignore-scripts'], false],
];
const MAJORS = [20, 22, 24, 26];
const MAX_MIB = 300;
const PROFILE = { name: '240p', width: 426, height: 240, fps: 0, bitrate: 300_000 };

let folder: string;
let tarball: string;
const nodes = new Map<number, string>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-package-'));
  tarball = await pack(folder);
  for (const major of MAJORS) {
    const target = join(folder, `node-${major}`);
    await mkdir(target);
    const name = `node-${process.platform}-${process.arch}`;
    await npm(target, ['install', '--prefer-offline', '--no-save', `${name}@${major}`]);
    nodes.set(major, join(target, 'node_modules', name, 'bin/node'));
  }
});
after(() => rm(folder, { recursive: true }));

for (const { page, commands } of blocksRunBy('packaging/package.test.ts')) {
  it(`${page}: the commands install the package and start it`, async (t) => {
    const path = `${dirname(nodes.get(24)!)}:${process.env.PATH}`;
    const here = commands.replace('/path/to/millrace-0.1.0.tgz', tarball);
    assert.ok(here.includes(tarball));
    const { stdout, stderr } = await runUntilReady(here, { cwd: await dataFolder(t), path, timeoutMs: 300_000 });
    assert.match(stdout, /"node":"24\./);
    assert.doesNotMatch(stderr, /install-scripts|EBADENGINE/);
  });
}

for (const [options, hasFfmpeg] of WAYS) {
  describe(`installed with ${['npm install', ...options].join(' ')}`, () => {
    let installation: Installation;
    before(async () => {
      const target = await mkdtemp(join(folder, 'way-'));
      installation = await install(target, tarball, options, nodes.get(24));
    });

    it(`it takes at most ${MAX_MIB} MB, and npm names no package that needs a newer Node`, async (t) => {
      const size = await folderMib(join(installation.launcher, '../../..'));
      t.diagnostic(`${size} MB`);
      assert.ok(size <= MAX_MIB, `${size} MB`);
      assert.doesNotMatch(installation.stderr, /EBADENGINE/);
    });

    for (const major of MAJORS.filter((each) => each < 24)) {
      it(`on Node ${major} it reports in one sentence what is missing`, async () => {
        const { code, stdout, stderr } = await run(['serve'], { ...installation, node: nodes.get(major)! });
        assert.equal(code, 1);
        assert.equal(stdout, '');
        assert.match(stderr, /^Millrace needs Node 24 or later, and this is Node [^\n]*\.\n$/);
      });
    }

    if (hasFfmpeg) {
      it('it transcodes what is published', async (t) => {
        const apiKey = 'k'.repeat(43);
        const settings = { DATA_DIR: join(await dataFolder(t), 'data'), BOOTSTRAP_API_KEY: apiKey };
        const { http, rtmp } = await serve(t, { ...installation, node: nodes.get(24)!, settings });
        const api = new ApiClient(`${http}/api`, apiKey);
        const { streamKey, playbackId } = await api.createStream({ profiles: [PROFILE] });
        await using _publisher = await startPublisher({ url: `${rtmp}/${streamKey}` });
        const text = async (url: string) => {
          const response = await fetch(url);
          return response.ok ? await response.text() : '';
        };
        const index = `${http}/hls/${playbackId}/index.m3u8`;
        const hasSegments = async () => {
          const [name] = /^.*240p\.m3u8$/m.exec(await text(index)) ?? [];
          return name !== undefined && (await text(new URL(name, index).href)).includes('#EXTINF');
        };
        await waitFor(hasSegments, { what: 'segments of the rendition', timeoutMs: 60_000 });
      });
    }

    for (const major of MAJORS.filter((each) => each >= 24)) {
      it(`on Node ${major} it serves, and stops on SIGTERM`, async (t) => {
        const settings = { DATA_DIR: join(await dataFolder(t), 'data') };
        const { http, child, finished } = await serve(t, { ...installation, node: nodes.get(major)!, settings });
        assert.equal((await fetch(`${http}/healthz`)).status, 200);
        child.kill('SIGTERM');
        const { code, stdout, stderr } = await finished;
        assert.equal(code, 0);
        assert.equal(stderr, '');
        assert.match(stdout, new RegExp(`"node":"${major}\\.`));
        assert.equal(stdout.includes('FFmpeg is not installed'), !hasFfmpeg);
      });
    }
  });
}
