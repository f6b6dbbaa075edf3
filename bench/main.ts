/**
 * Asks every question, or those named on the command line, and prints the answers as a Markdown table.
 *
 * `npm run bench`, `npm run bench -- get-stream-cpu-us first-part-ms`; with `--write`, a whole run goes to `bench/README.md`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { durableCreatesPerS } from './durable-creates-per-s.ts';
import { firstPartMs } from './first-part-ms.ts';
import { frameToPartMs } from './frame-to-part-ms.ts';
import { getStreamCpuUs } from './get-stream-cpu-us.ts';
import { glassToGlassMs } from './glass-to-glass-ms.ts';
import { memoryMb } from './memory-mb.ts';
import { passthroughCpuPercent } from './passthrough-cpu-percent.ts';
import { segmentCpuSPerGb } from './segment-cpu-s-per-gb.ts';
import { startMs } from './start-ms.ts';
import type { Answer, Bench } from './support/question.ts';
import { machine, reportPage, TABLE_HEAD, tableRow } from './support/report.ts';
import { viewersWakeUpMs } from './viewers-wake-up-ms.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  'get-stream-cpu-us': getStreamCpuUs,
  'durable-creates-per-s': durableCreatesPerS,
  'frame-to-part-ms': frameToPartMs,
  'first-part-ms': firstPartMs,
  'glass-to-glass-ms': glassToGlassMs,
  'passthrough-cpu-percent': passthroughCpuPercent,
  'viewers-wake-up-ms': viewersWakeUpMs,
  'segment-cpu-s-per-gb': segmentCpuSPerGb,
  'memory-mb': memoryMb,
  'start-ms': startMs,
};

const { values: options, positionals: asked } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0 || (options.write && asked.length > 0)) {
  const problem = unknown.length > 0 ? `There is no bench ${unknown.join(', ')}` : '--write takes the whole run';
  console.error(`${problem}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}

console.log(`${machine()}\n\n${TABLE_HEAD}`);
const answers: Answer[] = [];
for (const [name, bench] of Object.entries(BENCHES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const answer of await bench()) {
    answers.push(answer);
    console.log(tableRow(answer));
  }
}
if (options.write) writeFileSync(join(import.meta.dirname, 'README.md'), reportPage(answers, new Date()));
