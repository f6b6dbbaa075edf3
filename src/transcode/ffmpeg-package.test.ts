import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hasFfmpeg } from './ffmpeg-package.ts';

test('FFmpeg is found beside the package that loads it, and not found where the optional package was omitted', async (t) => {
  assert.equal(hasFfmpeg(), true);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-ffmpeg-'));
  t.after(() => rm(folder, { recursive: true }));
  const main = join(folder, 'main.js');
  assert.equal(hasFfmpeg(main), false, 'nothing is installed');
  const library = dirname(fileURLToPath(import.meta.resolve('node-av/lib')));
  const target = join(folder, 'node_modules/node-av');
  await mkdir(target, { recursive: true });
  await cp(join(library, '../../package.json'), join(target, 'package.json'));
  await cp(join(library, 'index.js'), join(target, 'dist/lib/index.js'));
  assert.equal(hasFfmpeg(main), false, 'only the JavaScript is installed');
});
