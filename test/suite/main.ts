/**
 * Runs the test files in a few processes, each of which takes the next file when it has finished one.
 *
 *     node test/suite/main.ts [unit | e2e]
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { makeMemoryFolder } from './memory-folder.ts';
import { filesLeft, makeQueue } from './queue.ts';

const ROOT = join(import.meta.dirname, '../..');
/**
 * Enough processes to keep both cores of a small machine busy although many tests wait: 436 s instead of 492 with three, on the same busy
 * machine. With one core busy all the time, four also passed.
 */
const PROCESSES = Number(process.env.MILLRACE_TEST_PROCESSES ?? 4);
const ALL = '{bench,src,test,web}/**/*.test.ts';
/** The end-to-end tests. All others are unit tests. */
const END_TO_END = 'test/{cli,e2e,ingest}/*.test.ts';
/**
 * The slowest files, and those that mostly wait. They run first, so that none of them is left running alone at the end, and others use the cores
 * meanwhile.
 */
const FIRST = [
  'test/e2e/{recordings-viewers,cluster-faults*,playback-rights,codecs,players,pauses,renditions,recordings,dashboard*}.test.ts',
  'src/transcode/process-transcoder.test.ts',
  'src/store/engines/*.test.ts',
  'test/e2e/{transcoder-faults,browser,player-page,caches,cluster,tls,events,lifecycle,openapi}.test.ts',
  'test/cli/package.test.ts',
  'test/suite/main.test.ts',
];

const all = globSync(ALL, { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort();
const endToEnd = new Set(globSync(END_TO_END, { cwd: ROOT }));
const first = new Set(globSync(FIRST, { cwd: ROOT }));
const [which] = process.argv.slice(2);
if (![undefined, 'unit', 'e2e'].includes(which)) throw new Error(`Run unit or e2e, not ${which}.`);
const wanted = all.filter((file) => which === undefined || endToEnd.has(file) === (which === 'e2e'));
const rank = (file: string) => (first.has(file) ? 0 : endToEnd.has(file) ? 1 : 2);
using queue = makeQueue(wanted.toSorted((a, b) => rank(a) - rank(b)));

const results = run({
  files: Array.from({ length: PROCESSES }, () => join(import.meta.dirname, 'runner.ts')),
  concurrency: PROCESSES,
  env: {
    ...process.env,
    MILLRACE_TEST_QUEUE: queue.folder,
    TMPDIR: process.env.TMPDIR ?? makeMemoryFolder(), // the folder that the user names, or one in memory
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/millrace'),
  },
});
results.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1;
});
const report = results.compose(spec);
report.pipe(process.stdout);
await finished(report);
const { waiting, unfinished } = filesLeft(queue.folder);
if (waiting.length > 0 || unfinished.length > 0) process.exitCode = 1;
if (waiting.length > 0)
  console.error(`These files were not run, because all processes had ended: ${waiting.join(', ')}`);
if (unfinished.length > 0) console.error(`These files did not finish: ${unfinished.join(', ')}`);
