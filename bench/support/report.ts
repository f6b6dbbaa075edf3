/**
 * The answers as Markdown: lines of a table while they come, and the page that keeps them.
 */
import { cpus, totalmem } from 'node:os';
import type { Answer } from './question.ts';

/** Head of the table. */
export const TABLE_HEAD = '| question | measured | against | ratio | must reach | |\n|---|---|---|---|---|---|';

/** One line of the table. */
export function tableRow({ question, measured, against, ratio, mustReach, reached }: Answer): string {
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x`;
  return `| ${question} | ${measured} | ${against} | ${times} | ${mustReach} | ${reached ? 'reached' : '**missed**'} |`;
}

/** What it ran on. */
export function machine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 1e9)} GB`;
  return `${cpu?.model.trim()}, ${cpus().length} cores, ${memory}, ${process.platform} ${process.arch}, Node ${process.version}`;
}

/** The text of `bench/README.md`: results of one whole run. */
export function reportPage(answers: readonly Answer[], date: Date): string {
  return `# Benches

One file a question; the unit of its number is in its name. Each number stands beside its limit, or beside a peer measured
in the same run: machines differ, ratios less so. Load runs in processes of its own, and what is counted is the CPU of the
server's process, all its threads included.

\`\`\`
npm run bench                                   # every question, about ten minutes
npm run bench -- first-part-ms start-ms         # some of them
npm run bench -- --write                        # every question, and this page anew
\`\`\`

It takes Linux (\`/proc\`), Chromium and nginx as Debian packages them; run it on a machine that does nothing else.

## Last results

${machine()}, ${date.toISOString().slice(0, 10)}; \`npm run bench -- --write\`.

${TABLE_HEAD}
${answers.map(tableRow).join('\n')}
`;
}
