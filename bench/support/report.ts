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

/** The results of one whole group, as a section of the page. */
export function reportSection(
  group: string,
  answers: readonly Answer[],
  { date, long }: { readonly date: Date; readonly long: boolean },
): string {
  return `${heading(group)}

${machine()}, ${date.toISOString().slice(0, 10)}; \`npm run bench -- --write ${group}${long ? ' --long' : ''}\`.

${TABLE_HEAD}
${answers.map(tableRow).join('\n')}
`;
}

/**
 * The text of `bench/README.md`.
 * @param page as it is now: sections that are not made anew stay
 * @param groups in the order of their sections
 * @param sections made anew, by group
 */
export function reportPage(
  page: string,
  groups: readonly string[],
  sections: Readonly<Record<string, string>>,
): string {
  const known = new Map(
    groups.flatMap((group) => {
      const found = page.split(/^(?=## )/m).find((section) => section.startsWith(`${heading(group)}\n`));
      return found === undefined ? [] : [[group, found.trimEnd()] as const];
    }),
  );
  const kept = groups.flatMap((group) => sections[group]?.trimEnd() ?? known.get(group) ?? []);
  return `${INTRODUCTION}\n${kept.join('\n\n')}\n`;
}

const heading = (group: string) => `## Last results: ${group}`;

const INTRODUCTION = `# Benches

One file a question; the unit of its number is in its name. Each number stands beside its limit, or beside a peer measured
in the same run: machines differ, ratios less so. Load runs in processes of its own, and what is counted is the CPU of the
server's process, all its threads included; where the question is about the whole service, that of its transcoders as well.

\`\`\`
npm run bench                                   # every question, about half an hour
npm run bench -- passthrough                    # a group: what the service is without transcoding; about ten minutes
npm run bench -- renditions                     # another: its renditions; about twenty minutes
npm run bench -- first-part-ms start-ms         # some questions
npm run bench -- --write renditions             # a group, and its section of this page anew
npm run bench -- --long renditions              # for as long as the questions say: an hour and a half
\`\`\`

It takes Linux (\`/proc\`), Chromium, ffmpeg and nginx as Debian packages them; run it on a machine that does nothing else.
`;
