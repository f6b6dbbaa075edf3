/**
 * Runs test files of the whole service, one after another: encoders and players run in real time. A file that failed while the host of
 * a virtual machine took away much of its CPU says nothing about the service, and is run again, with cores that never rest.
 *
 * `node test/run-files.ts <pattern> ...` ends with 1 when a file failed, as its last run says.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimes, stolenShare } from './support/cpu-times.ts';

const ATTEMPTS = 3;
/** Of the CPU asked for; where less is taken away, a test has to pass. */
const MOST_STOLEN = 0.1;
/** From the start on a host may keep what it took so long; what fails later has failed, so that all of it ends in time. */
const PATIENCE_MS = 45 * 60_000;
const LOOK_EVERY_MS = 10_000;
/** Work that shows whether the host gives what is asked for. */
const PROBE_MS = 1000;
/** No file takes longer; loops end by themselves should nobody end them. */
const AWAKE_AT_MOST_S = 3600;

const deadline = performance.now() + PATIENCE_MS;
const files = globSync(process.argv.slice(2)).toSorted();
if (files.length === 0) throw new Error(`no file is named ${process.argv.slice(2).join(' or ')}`);
const failed: string[] = [];
for (const file of files) if (!(await passes(file))) failed.push(file);
console.log(`${files.length} files, ${failed.length} failed${failed.map((file) => `\n  ${file}`).join('')}`);
if (failed.length > 0) process.exitCode = 1;

async function passes(file: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    using _loops = attempt > 1 ? keepAwake() : undefined;
    if (attempt > 1) await calm();
    console.log(file);
    const before = cpuTimes();
    const child = spawn(process.execPath, ['--test', '--test-concurrency=1', file], { stdio: 'inherit' });
    const [exitCode] = await once(child, 'exit');
    const stolen = stolenShare(before);
    if (exitCode === 0) return true;
    if (stolen <= MOST_STOLEN || attempt === ATTEMPTS || performance.now() > deadline) return false;
    console.log(`again, for the host took away ${Math.round(stolen * 100)} % of the CPU that was asked for`);
  }
}

/** Waits until the host gives what is asked for, or nothing can be waited for any more. */
async function calm(): Promise<void> {
  while (performance.now() < deadline) {
    const before = cpuTimes();
    const until = performance.now() + PROBE_MS;
    while (performance.now() < until);
    if (stolenShare(before) <= MOST_STOLEN) return;
    await sleep(LOOK_EVERY_MS);
  }
}

/** A loop for every core, run when nothing else would be: some hosts give a core back late that rested for a moment. */
function keepAwake(): Disposable {
  const loop = ['--foreground', `${AWAKE_AT_MOST_S}`, 'chrt', '--idle', '0', 'sh', '-c', 'while :; do :; done'];
  const loops = cpus().map(() => spawn('timeout', loop, { stdio: 'ignore' }));
  for (const each of loops) each.on('error', () => {}); // where there is no such command, cores rest
  return {
    [Symbol.dispose]: () => {
      for (const each of loops) each.kill();
    },
  };
}
