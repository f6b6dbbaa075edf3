/**
 * The results of benches: one JSON file that keeps them, the page that is written from it, and the table of players in the documentation.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { GROUPS } from '../benches.ts';
import { PLAYERS_PAGE, withPlayersTable } from './players-table.ts';
import type { Answer } from './question.ts';

const FOLDER = join(import.meta.dirname, '..');
const RESULTS = join(FOLDER, 'results.json');
const PAGE = join(FOLDER, 'README.md');
const INTRODUCTION = join(FOLDER, 'introduction.md');

/** An answer, and where it comes from. */
export interface Row extends Answer {
  /** The bench's name. */
  readonly bench: string;
  /** The day it was measured, as YYYY-MM-DD. */
  readonly date: string;
  readonly machine: string;
  /** Whether it ran for as long as its question asks. */
  readonly long: boolean;
}

/** The heading of the table. */
export const TABLE_HEAD =
  '| bench | question | measured | against | ratio | must reach | | run |\n|---|---|---|---|---|---|---|---|';

/** The rows of a bench that has just run on this machine. */
export function rowsOf(bench: string, answers: readonly Answer[], long: boolean): readonly Row[] {
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`;
  const date = new Date().toISOString().slice(0, 10);
  return answers.map((answer) => ({ bench, ...answer, date, machine, long }));
}

/** One line of the table. */
export function printRow({ bench, question, measured, against, ratio, mustReach, reached, date, long }: Row): string {
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x`;
  const run = long ? `${date}, \`--long\`` : date;
  const cells = [
    `\`${bench}\``,
    question,
    measured,
    against ?? '',
    times,
    mustReach,
    reached ? 'reached' : '**missed**',
    run,
  ];
  return `| ${cells.join(' | ')} |`;
}

/**
 * Replaces the rows of a bench in the file, and writes the pages anew.
 * @param options.areAll false when other rows of the bench were not measured, and stay
 */
export function keepRows(bench: string, rows: readonly Row[], { areAll }: { readonly areAll: boolean }): void {
  const isReplaced = (row: Row) =>
    row.bench === bench && (areAll || rows.some(({ question }) => question === row.question));
  const kept = [...readRows().filter((row) => !isReplaced(row)), ...rows];
  const order = Object.values(GROUPS).flatMap((benches) => Object.keys(benches));
  const sorted = kept.toSorted((a, b) => order.indexOf(a.bench) - order.indexOf(b.bench));
  writeFileSync(RESULTS, `${JSON.stringify(sorted, undefined, 2)}\n`);
  writeFileSync(PAGE, resultsPage());
  writeFileSync(PLAYERS_PAGE, playersPage());
}

/** The text of `bench/README.md`. */
export function resultsPage(): string {
  const rows = readRows();
  const machines = [...new Set(rows.map(({ machine }) => machine))].join('; ');
  const sections = Object.entries(GROUPS).map(([group, benches]) => {
    const lines = rows.filter(({ bench }) => bench in benches).map(printRow);
    return `## Last results: ${group}\n\n${TABLE_HEAD}\n${lines.join('\n')}`;
  });
  return `${readFileSync(INTRODUCTION, 'utf8')}\nMeasured on ${machines}.\n\n${sections.join('\n\n')}\n`;
}

/** The text of `docs/11-players.md` with the latest results of the players. */
export function playersPage(): string {
  return withPlayersTable(readFileSync(PLAYERS_PAGE, 'utf8'), readRows());
}

function readRows(): readonly Row[] {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Row[]) : [];
}
