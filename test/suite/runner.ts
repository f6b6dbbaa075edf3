/**
 * Runs test files one after the other in this process, each as a suite that is named after its file, until none is left in the queue. Loading
 * the service's modules costs more CPU time than the tests of most files, and here it is done once for many of them. `main.ts` starts several
 * of these processes.
 */
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { takeFile } from './queue.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The longest that a file may take, on a machine that may be busy. The test of this program sets another limit. */
const FILE_LIMIT_MS = Number(process.env.MILLRACE_TEST_FILE_LIMIT_MS ?? 600_000);

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

const queue = process.env.MILLRACE_TEST_QUEUE!;
const watchdog = new Worker(WATCHDOG, { eval: true, workerData: FILE_LIMIT_MS });
watchdog.unref();
const files: string[] = [];
for (let taken = takeFile(queue); taken !== undefined; taken = takeFile(queue)) {
  files.push(taken.file);
  watchdog.postMessage(taken.file);
  await runFile(taken.file);
  taken.finish();
}
// A process that does not end after its last file is killed, too.
watchdog.postMessage(`A process that one of these files keeps running (${files.join(', ')})`);

/**
 * Resolves when all tests and hooks of the file have ended. The hooks belong to an inner suite, so they concern no other file, and one that
 * fails does not prevent the hook of the outer suite.
 */
function runFile(file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  describe(file, () => {
    after(() => resolve());
    describe('tests', async () => {
      await import(pathToFileURL(join(ROOT, file)).href);
    });
  });
  return promise;
}
