/**
 * Asks every question, or the groups and questions named on the command line, and prints the answers as Markdown tables.
 *
 * `npm run bench`, `npm run bench -- renditions`, `npm run bench -- get-stream-cpu-us first-part-ms`. With `--write`, the answers
 * go to `bench/README.md`; those of other benches stay there as they are. `--long` takes the time the questions ask for, `--cycles N` sets
 * the number of publish/stop cycles, and `--only TEXT` takes only the attacks whose name contains the text.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createsAtAMillion } from './creates-at-a-million.ts';
import { crossNodeCutMs } from './cross-node-cut-ms.ts';
import { cursorWalk } from './cursor-walk.ts';
import { durableCreatesPerS } from './durable-creates-per-s.ts';
import { firstPartMs } from './first-part-ms.ts';
import { firstRenditionPartMs } from './first-rendition-part-ms.ts';
import { frameToPartMs } from './frame-to-part-ms.ts';
import { getStreamCpuUs } from './get-stream-cpu-us.ts';
import { glassToGlassMs, renditionGlassToGlassMs } from './glass-to-glass-ms.ts';
import { hostileAddress } from './hostile-address.ts';
import { hostileCustomer } from './hostile-customer.ts';
import { hostileStranger } from './hostile-stranger.ts';
import { hostileViewer } from './hostile-viewer.ts';
import { ladderCpuSPerMin } from './ladder-cpu-s-per-min.ts';
import { listPageMs } from './list-page-ms.ts';
import { liveLadders } from './live-ladders.ts';
import { memoryMb } from './memory-mb.ts';
import { passthroughCpuPercent } from './passthrough-cpu-percent.ts';
import { postgresCpuUs } from './postgres-cpu-us.ts';
import { publishStopCycles } from './publish-stop-cycles.ts';
import { renditionDelayMs } from './rendition-delay-ms.ts';
import { renditionPsnrDb } from './rendition-psnr-db.ts';
import { segmentCpuSPerGb } from './segment-cpu-s-per-gb.ts';
import { startMs } from './start-ms.ts';
import type { Bench } from './support/question.ts';
import { reportPage, TABLE_HEAD, tableRow } from './support/report.ts';
import { transcoderKills } from './transcoder-kills.ts';
import { transcoderMemoryMb } from './transcoder-memory-mb.ts';
import { variantSwitches } from './variant-switches.ts';
import { viewersAcrossNodes } from './viewers-across-nodes.ts';
import { viewersWakeUpMs } from './viewers-wake-up-ms.ts';

/**
 * Every question by the group it is asked in: what the service is without transcoding, its renditions, managing it, and what an attacker
 * can do to others.
 */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Bench>>>> = {
  passthrough: {
    'get-stream-cpu-us': getStreamCpuUs,
    'durable-creates-per-s': durableCreatesPerS,
    'creates-at-a-million': createsAtAMillion,
    'frame-to-part-ms': frameToPartMs,
    'first-part-ms': firstPartMs,
    'glass-to-glass-ms': glassToGlassMs,
    'passthrough-cpu-percent': passthroughCpuPercent,
    'viewers-wake-up-ms': viewersWakeUpMs,
    'segment-cpu-s-per-gb': segmentCpuSPerGb,
    'memory-mb': memoryMb,
    'start-ms': startMs,
  },
  renditions: {
    'ladder-cpu-s-per-min': ladderCpuSPerMin,
    'live-ladders': liveLadders,
    'rendition-delay-ms': renditionDelayMs,
    'rendition-psnr-db': renditionPsnrDb,
    'rendition-glass-to-glass-ms': renditionGlassToGlassMs,
    'first-rendition-part-ms': firstRenditionPartMs,
    'transcoder-memory-mb': transcoderMemoryMb,
    'variant-switches': variantSwitches,
    'transcoder-kills': transcoderKills,
  },
  manage: {
    'list-page-ms': listPageMs,
    'cursor-walk': cursorWalk,
    'cross-node-cut-ms': crossNodeCutMs,
    'postgres-cpu-us': postgresCpuUs,
    'viewers-across-nodes': viewersAcrossNodes,
  },
  hostile: {
    'hostile-stranger': hostileStranger,
    'hostile-viewer': hostileViewer,
    'hostile-customer': hostileCustomer,
    'hostile-address': hostileAddress,
    'publish-stop-cycles': publishStopCycles,
  },
};
const NAMES = Object.fromEntries(Object.entries(GROUPS).map(([group, benches]) => [group, Object.keys(benches)]));
const PAGE = join(import.meta.dirname, 'README.md');

const { values: options, positionals: asked } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    cycles: { type: 'string' },
    only: { type: 'string' },
  },
  allowPositionals: true,
});
const { write, long, only } = options;
const cycles = options.cycles === undefined ? undefined : Number(options.cycles);
if (cycles !== undefined && !(Number.isSafeInteger(cycles) && cycles > 0)) {
  console.error(`--cycles is ${options.cycles} but must be a whole number above 0.`);
  process.exit(2);
}
const groups = Object.keys(GROUPS);
const questions = Object.values(GROUPS).flatMap((group) => Object.keys(group));
const unknown = asked.filter((name) => !groups.includes(name) && !questions.includes(name));
if (unknown.length > 0) {
  console.error(
    `There is no bench ${unknown.join(', ')}; there are the groups ${groups.join(', ')}, and ${questions.join(', ')}.`,
  );
  process.exit(2);
}

const isAsked = (group: string, name: string) => asked.length === 0 || asked.includes(group) || asked.includes(name);
for (const [group, benches] of Object.entries(GROUPS)) {
  const chosen = Object.entries(benches).filter(([name]) => isAsked(group, name));
  if (chosen.length === 0) continue;
  console.log(`\n${TABLE_HEAD}`);
  for (const [name, bench] of chosen) {
    const run = { date: new Date(), long };
    const rows = (await bench({ long, cycles, only })).map((answer) => tableRow(name, answer, run));
    console.log(rows.join('\n'));
    if (!write) continue;
    const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
    writeFileSync(PAGE, reportPage(page, NAMES, new Map([[name, rows]])));
  }
}
