/**
 * Asks every question, or those named on the command line, and prints the answers as a Markdown table.
 *
 * `npm run bench`, `npm run bench -- get-stream-cpu-us first-part-ms`
 */
import { cpus } from 'node:os';
import { styleText } from 'node:util';
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

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}

const [cpu] = cpus();
console.log(`${cpu?.model}, ${cpus().length} cores, Node ${process.version}, ${process.platform} ${process.arch}\n`);
console.log('| question | measured | against | ratio | must reach | |\n|---|---|---|---|---|---|');
for (const [name, bench] of Object.entries(BENCHES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const answer of await bench()) console.log(row(answer));
}

function row({ question, measured, against, ratio, mustReach, reached }: Answer): string {
  const verdict = reached ? 'reached' : styleText('red', '**missed**', { stream: process.stdout });
  return `| ${question} | ${measured} | ${against} | ${ratio === undefined ? '' : `${ratio.toFixed(2)}x`} | ${mustReach} | ${verdict} |`;
}
