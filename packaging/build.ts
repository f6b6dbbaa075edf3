/**
 * Makes the folder that the npm package is packed from, `build/`. Its JavaScript is plain, because Node does not strip types from files below
 * `node_modules`. What runs in browsers is bundled or copied into it, so that its users install none of that. A clone needs no such build.
 *
 * `npm run package` builds and packs. `build/dist/` has one file for each source file, with the same line numbers, so that a stack leads to
 * the source.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleFiles } from '#dashboard/bundler/bundle-files.ts';
import manifest from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');
const BUILD = join(ROOT, 'build');
const TARGET = join(BUILD, 'dist');
/** What the package has as it is. Its `files` leave some of it out. */
const COPIED = ['bin', 'web', 'docs', 'deploy', 'LICENSE', 'README.md', 'SECURITY.md', 'CHANGELOG.md'];
/** Dependencies of a clone whose code the package contains. */
const CONTAINED = ['hls.js', 'preact', '@preact/signals', '@preact/signals-core', 'uplot', 'uqr'];
/**
 * The Node that the package requires. The package runs on its user's Node, so this is the oldest one that `bin/millrace.js` accepts. A
 * clone brings its own Node, and its manifest requires less.
 */
const ENGINES = { node: '>=24' };
/** The name of tests, and of suites that tests share. */
const TESTS = /\.(?:test|contract)\.ts$/;
/** The name of another source file, in an import or for a worker. */
const SOURCE_NAME = /'([^'\n]+)\.ts'/g;

rmSync(BUILD, { recursive: true, force: true });
for (const name of COPIED) cpSync(join(ROOT, name), join(BUILD, name), { recursive: true });
for (const name of globSync('**/*.ts', { cwd: SOURCE })) {
  if (TESTS.test(name) || name.startsWith('store/contract/')) continue;
  const target = join(TARGET, name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  const text = stripTypeScriptTypes(readFileSync(join(SOURCE, name), 'utf8'));
  // Removes the blanks that stripped types leave at the ends of lines.
  writeFileSync(target, text.replace(/[ \t]+$/gm, '').replace(SOURCE_NAME, "'$1.js'"));
}

const dashboard = join(TARGET, 'dashboard/files');
mkdirSync(dashboard, { recursive: true });
for (const [name, bytes] of await bundleFiles()) writeFileSync(join(dashboard, name), bytes);

// The server looks for it here first; `hls.js` has 32 MB, most of them source maps.
cpSync(join(ROOT, 'node_modules/hls.js/dist/hls.min.mjs'), join(BUILD, 'web/player/hls.mjs'));
const licences = CONTAINED.map((name) => {
  const [file] = globSync(join(ROOT, 'node_modules', name, 'LICEN[CS]E*'));
  return `${name}\n\n${readFileSync(file!, 'utf8').trim()}\n`;
});
writeFileSync(join(BUILD, 'THIRD-PARTY-LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));

const { private: _, scripts: _scripts, devDependencies: _dev, ...published } = manifest;
const dependencies = Object.entries(manifest.dependencies).filter(([name]) => !CONTAINED.includes(name));
writeFileSync(
  join(BUILD, 'package.json'),
  `${JSON.stringify({ ...published, engines: ENGINES, dependencies: Object.fromEntries(dependencies) }, undefined, 2)}\n`,
);
