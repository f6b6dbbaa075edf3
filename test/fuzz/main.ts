/**
 * Fuzzes every parser that reads bytes from outside, each for an equal part of the time, and prints the results.
 *
 * `npm run fuzz -- --minutes 20`, `npm run fuzz -- --target chunk-reader --seed 7`. Findings are kept below `test/fixtures/fuzz/`, and make
 * the exit code 1.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Finding, keepFinding } from './finding.ts';
import type { FuzzReport } from './fuzzer.ts';
import { DEFAULT_MAX_BYTES, type Target } from './target.ts';
import { TARGETS } from './targets.ts';
import { WatchedInput } from './watched-input.ts';
import type { FuzzTask } from './worker.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string', multiple: true, default: [] },
    seed: { type: 'string' },
  },
});
/** Reading an input that takes this long is taken to be endless. */
const HANG_MS = 10_000;
const LOOK_EVERY_MS = 500;
/** The memory limit of a thread, more than all parsers together need. An input that exceeds it ends the thread. */
const MAX_HEAP_MB = 1024;

const minutes = Number(options.minutes);
const seed = Number(options.seed ?? Date.now() % 2 ** 31);
const unknown = options.target.filter((name) => !TARGETS.some((target) => target.name === name));
if (!(minutes > 0) || !Number.isSafeInteger(seed) || unknown.length > 0) {
  console.error('Usage: npm run fuzz -- [--minutes <number>] [--seed <whole number>] [--target <name> ...]');
  console.error(`Targets: ${TARGETS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const targets = TARGETS.filter(({ name }) => options.target.length === 0 || options.target.includes(name));
const forMs = (minutes * 60_000) / targets.length;

console.log(`seed ${seed}, ${(forMs / 1000).toFixed(1)} s for each of ${targets.length} targets\n`);
console.log('| target | inputs | inputs/s | findings | slowest input (ms) |\n|---|---:|---:|---:|---:|');
let inputs = 0;
const findings: Finding[] = [];
for (const target of targets) {
  const report = await fuzz(target);
  inputs += report.inputs;
  findings.push(...report.findings);
  const rate = Math.round((report.inputs / forMs) * 1000);
  const cells = [target.name, report.inputs, rate, report.findings.length, report.slowestMs.toFixed(2)];
  console.log(`| ${cells.join(' | ')} |`);
}
console.log(`\n${inputs} inputs, ${findings.length} findings`);
for (const finding of findings) {
  console.log(`\n${finding.target}, ${finding.kind}: ${keepFinding(finding)}\n${finding.what}`);
}
if (findings.length > 0) process.exitCode = 1;

/** Fuzzes one target in a thread of its own, which is terminated when reading an input does not end. */
async function fuzz(target: Target): Promise<FuzzReport> {
  const watched = new WatchedInput(target.maxBytes ?? DEFAULT_MAX_BYTES);
  const task: FuzzTask = { target: target.name, seed, forMs, memory: watched.memory };
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const hung = new AbortController();
  const watch = watchProgress(watched, () => hung.abort());
  const ended = (kind: Finding['kind'], what: string): FuzzReport => ({
    inputs: watched.count,
    slowestMs: 0,
    findings: [{ kind, target: target.name, input: watched.input, what }],
  });
  try {
    const [report] = (await once(worker, 'message', { signal: hung.signal })) as [FuzzReport];
    return report;
  } catch (error) {
    if (hung.signal.aborted) return ended('hang', `Reading it did not end within ${HANG_MS / 1000} s.`);
    return ended(
      'crash',
      `Reading it ended the thread: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

/** @param onHang called when there has been no new input for too long, except before the first one, while the target opens */
function watchProgress(watched: WatchedInput, onHang: () => void): NodeJS.Timeout {
  let count = 0;
  let since = performance.now();
  return setInterval(() => {
    const now = performance.now();
    if (watched.count !== count || count === 0) since = now;
    count = watched.count;
    if (now - since > HANG_MS) onHang();
  }, LOOK_EVERY_MS);
}
