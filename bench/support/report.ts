/**
 * The answers as Markdown: lines of a table while they come, and the page that keeps them.
 */
import { cpus } from 'node:os';
import type { Answer } from './question.ts';

/** Head of the table. */
export const TABLE_HEAD =
  '| bench | question | measured | against | ratio | must reach | | run |\n|---|---|---|---|---|---|---|---|';

/** When a bench ran, and whether for as long as its question says. */
export interface Run {
  readonly date: Date;
  readonly long: boolean;
}

/** One line of the table. @param bench its name, as it is asked for */
export function tableRow(bench: string, answer: Answer, { date, long }: Run): string {
  const { question, measured, against, ratio, mustReach, reached } = answer;
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x`;
  const run = `${date.toISOString().slice(0, 10)}, ${machine()}${long ? ', `--long`' : ''}`;
  return `| \`${bench}\` | ${question} | ${measured} | ${against} | ${times} | ${mustReach} | ${reached ? 'reached' : '**missed**'} | ${run} |`;
}

/**
 * The text of `bench/README.md`.
 * @param page as it is now: rows of benches that did not run stay
 * @param groups names of benches by group, in their order
 * @param rows of those that ran, by name
 */
export function reportPage(
  page: string,
  groups: Readonly<Record<string, readonly string[]>>,
  rows: ReadonlyMap<string, readonly string[]>,
): string {
  const kept = page.split('\n');
  const rowsOf = (bench: string) => rows.get(bench) ?? kept.filter((line) => line.startsWith(`| \`${bench}\` |`));
  const sections = Object.entries(groups).map(
    ([group, benches]) => `## Last results: ${group}\n\n${TABLE_HEAD}\n${benches.flatMap(rowsOf).join('\n')}`,
  );
  return `${INTRODUCTION}\n${sections.join('\n\n')}\n`;
}

/** What it runs on, in short. */
function machine(): string {
  return `${cpus().length} x ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`;
}

const INTRODUCTION = `# Benches

One file a question; the unit of its number is in its name. Each number stands beside its limit, or beside a peer measured
in the same run: machines differ, ratios less so. Load runs in processes of its own, and what is counted is the CPU of the
server's process, all its threads included; where the question is about the whole service, that of its transcoders as well.

\`\`\`
npm run bench                                   # every question, about an hour and a quarter
npm run bench -- passthrough                    # a group: what the service is without transcoding; about ten minutes
npm run bench -- renditions                     # another: its renditions; about twenty-five minutes
npm run bench -- hostile                        # another: what attackers can do to others; about half an hour
npm run bench -- hostile-stranger --only alerts # the attacks of a question whose names contain a text
npm run bench -- publish-stop-cycles --cycles 400
npm run bench -- first-part-ms start-ms         # some questions
npm run bench -- --write renditions             # and their rows of this page anew
npm run bench -- --long renditions              # for as long as the questions say: an hour and a half
\`\`\`

It takes Linux (\`/proc\`), Chromium, ffmpeg and nginx as Debian packages them; run it on a machine that does nothing else.
Some hosts of virtual machines give a core back late that rested for a moment. A loop for each core that runs when nothing else would,
started in the bench's own session, keeps them awake: \`chrt -i 0 sh -c 'while :; do :; done' &\`.

Some limits are a number of ladders, a ladder beside a browser, or how late a ladder is, and suppose a machine on which \`ffmpeg\` takes
0.30 of a core for one, told to scale and encode as our workers did when the limits were set. A slower one, or one whose host takes CPU
away, is asked of smaller pictures, as large as \`ffmpeg\` makes of that or a little less, with as many frames a second; \`live-ladders\`,
where nothing asked counts in frames, of fewer pictures a second, as large as ever, so that what is done once a picture keeps its share.
Rows say so. Where several ladders are asked for, that is what it takes for each of so many side by side, at its slowest. Each row tells
when and where it was measured; \`--write\` replaces only those that ran.

The questions of \`hostile\` let quiet and hostile intervals take turns against one server. Attackers run in a process of their own with the
lowest priority, on the last core where there is \`taskset\`, and come from other loopback addresses than the customers they must not hurt.
They have no key and send up to 10,000 requests or 100 Mbit a second, or they hold the keys of one customer. *Block* is the most CPU time
that the server's main thread used between two turns of its timers; a machine that is busy with something else does not raise it. *Pause* is
the longest time between two turns, whatever the reason. *Part latency* is the time from when the last frame of a part was sent until a
viewer who waited for the part has it. What an attack leaves behind, such as unanswered requests, counts as its effect.

\`live-ladders\` does not count moments in which the host took away a quarter of a core or more, nor what was given up in them, until all
renditions are back; its row tells of them.
`;
