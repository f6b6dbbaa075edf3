/**
 * Runs many test files in one process, each as a suite that is named after its file. Loading the service's modules costs more CPU time than
 * the tests of most files, and here it is done once for all of them.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const ROOT = join(import.meta.dirname, '../..');
/** The longest that a file may take, on a machine that may be busy. */
const FILE_LIMIT_MS = 600_000;

/** A thread that is told each file in turn, and kills the process when one takes too long, even if the main thread is blocked. */
const WATCHDOG = `
  const { writeSync } = require('node:fs');
  const { parentPort, workerData: limitMs } = require('node:worker_threads');
  let timer;
  parentPort.on('message', (file) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      writeSync(2, file + ' did not end within ' + limitMs / 1000 + ' s\\n');
      process.kill(process.pid, 'SIGKILL');
    }, limitMs);
  });`;

/**
 * Runs the files one after the other. The hooks of a file belong to its suite, so they concern no other file.
 * @param files relative to the repository
 */
export function runFiles(files: readonly string[]): void {
  const watchdog = new Worker(WATCHDOG, { eval: true, workerData: FILE_LIMIT_MS });
  watchdog.unref();
  for (const file of files) {
    describe(file, async () => {
      before(() => watchdog.postMessage(file));
      await import(pathToFileURL(join(ROOT, file)).href);
    });
  }
  // A process that does not end after its last file is killed, too.
  after(() => watchdog.postMessage(`Something that one of these files left open: ${files.join(', ')}`));
}

/** The files that match, without those that match `except`, relative to the repository. */
export function filesOf(patterns: readonly string[], except: readonly string[] = []): readonly string[] {
  const left = new Set(globSync(except, { cwd: ROOT }));
  return [...new Set(globSync(patterns, { cwd: ROOT }))].filter((file) => !left.has(file)).sort();
}

/** Part number `part`, counted from 1, of `of` parts of the files. Neighbours go to different parts. */
export const partOf = (files: readonly string[], part: number, of: number): readonly string[] =>
  files.filter((_, index) => index % of === part - 1);
