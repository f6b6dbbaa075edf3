import assert from 'node:assert/strict';
import fs from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { dataFolder, run } from './millrace.ts';

const ROOT = join(import.meta.dirname, '../..');
const ESBUILD = dirname(dirname(fileURLToPath(import.meta.resolve('esbuild'))));
/** The threads of Millrace, each of which has a file of its own in a bundle. */
const THREADS = ['pages/docs', 'store/engines/sqlite', 'recording/reader', 'recording/storage', 'recording/writer'];

/** A clone of the launcher and a program that says where it is, starts a thread, and shows a stack. */
async function smallClone(t: TestContext) {
  const folder = await dataFolder(t);
  const write = async (name: string, text: string) => {
    const path = join(folder, 'src', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  };
  await cp(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(ESBUILD, join(folder, 'node_modules/esbuild'));
  for (const thread of THREADS) {
    await write(`${thread}/worker.ts`, "import { postTo } from '#lib/post.ts';\npostTo('a thread');");
    await write(`${thread}/thread.ts`, "export const url: URL = new URL('./worker.ts', import.meta.url);");
  }
  await write(
    'lib/post.ts',
    "import { parentPort } from 'node:worker_threads';\nexport const postTo = (text: string) => parentPort?.postMessage(`${text} in ${import.meta.filename}`);",
  );
  await write(
    'cli/main.ts',
    `import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { word } from '#lib/word.ts';
import { url } from '#store/engines/sqlite/thread.ts';
interface Said { readonly place: string }
const [posted] = await once(new Worker(url, { execArgv: [] }), 'message');
const said: Said = { place: import.meta.url };
console.log(JSON.stringify({ ...said, word, thread: String(url), posted, stack: new Error('shown').stack }));`,
  );
  await write('lib/word.ts', "export const word: string = 'first';");
  const ask = async () => {
    const { stdout, stderr } = await run([], { launcher: join(folder, 'bin/millrace.js') });
    assert.equal(stderr, '');
    return JSON.parse(stdout) as Record<'place' | 'word' | 'thread' | 'posted' | 'stack', string>;
  };
  const bundles = async () => {
    const names = await readdir(join(folder, 'node_modules/.cache/millrace')).catch(() => []);
    return names.filter((name) => name.startsWith('bundle-'));
  };
  return { folder, write, ask, bundles };
}

test('the program and its threads run from a bundle, and state the paths of the source files, also in stacks', async (t) => {
  const { folder, ask, bundles } = await smallClone(t);
  const main = join(folder, 'src/cli/main.ts');
  for (const start of ['first', 'second']) {
    const { place, word, thread, posted, stack } = await ask();
    assert.equal(place, pathToFileURL(main).href, start);
    assert.equal(word, 'first');
    assert.match(thread, /\/bundle-\w+\/store-engines-sqlite-worker\.js$/);
    assert.equal(posted, `a thread in ${join(folder, 'src/lib/post.ts')}`);
    assert.match(stack, new RegExp(`${RegExp.escape(main)}:8:`));
    assert.equal((await bundles()).length, 1);
  }
});

test('a changed file is in the bundle of the next start', async (t) => {
  const { write, ask, bundles } = await smallClone(t);
  await ask();
  await write('lib/word.ts', "export const word: string = 'other';");
  assert.equal((await ask()).word, 'other');
  assert.equal((await bundles()).length, 2);
});

test('a bundle whose files a power failure has cut short is made again', async (t) => {
  const { folder, ask, bundles } = await smallClone(t);
  await ask();
  const path = join(folder, 'node_modules/.cache/millrace', (await bundles())[0]!);
  for (const name of ['cli-main.js', 'store-engines-sqlite-worker.js', 'files.txt']) {
    await truncate(join(path, name));
    assert.equal((await ask()).word, 'first');
    assert.notEqual(await readFile(join(path, name), 'utf8'), '', name);
  }
  assert.equal((await bundles()).length, 1);
});

test('a bundle that another process completes at the same moment is kept', async (t) => {
  const { folder, ask, bundles } = await smallClone(t);
  await ask();
  const kept = join(folder, 'node_modules/.cache/millrace');
  const path = join(kept, (await bundles())[0]!);
  const { ino } = await stat(path);
  const { bundleOf } = await import(pathToFileURL(join(folder, 'bin/bundle.js')).href);
  // At the first look, the other process has not completed it.
  const { readFileSync } = fs;
  let looks = 0;
  t.mock.method(fs, 'readFileSync', (...asked: Parameters<typeof readFileSync>) => {
    if (asked[0] !== join(path, 'files.txt')) return readFileSync(...asked);
    looks += 1;
    return looks === 1 ? '' : readFileSync(...asked);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.equal(await bundleOf(join(folder, 'src/cli/main.ts'), kept), join(path, 'cli-main.js'));
  assert.equal(looks, 2);
  assert.equal((await stat(path)).ino, ino);
  assert.equal((await bundles()).length, 1);
});

test('the files themselves run where nothing can be kept, and while another process makes the bundle', async (t) => {
  const { folder, ask, bundles } = await smallClone(t);
  const kept = join(folder, 'node_modules/.cache');
  const url = pathToFileURL(join(folder, 'src/store/engines/sqlite/worker.ts')).href;
  await writeFile(kept, 'not a folder');
  assert.equal((await ask()).thread, url);
  await rm(kept);
  assert.notEqual((await ask()).thread, url);
  const [bundle] = await bundles();
  const path = join(kept, 'millrace', bundle!);
  await rename(path, `${path}-unfinished`);
  assert.equal((await ask()).thread, url);
});
