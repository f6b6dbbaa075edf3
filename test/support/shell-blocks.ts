/**
 * The commands that README and docs show in `sh` code blocks. The text after `sh` on the first line of a block, which readers do not see,
 * says how the commands are tried:
 *
 * - no text: the suite runs the commands, and they end with code 0. JSON that they print is not an error.
 * - `until=live`: an encoder. The suite runs it until its stream is live.
 * - `until=ready`: a server. The suite runs it until the server is ready.
 * - `until="TEXT"`: another program that does not end. The suite creates streams and runs the program until it has printed the text.
 * - `settings`: assignments for an environment file. The suite reads them as systemd and the server do.
 * - `by=FILE`: this script runs the commands, which take too long for the suite or need other tools.
 * - `not-run="REASON"`: nothing runs it.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const FIRST_LINE = /^```sh(?: (?<how>.*))?$/;
const HOW = /^(?:until=(?:live|ready|"[^"]+")|settings|by=\S+|not-run="[^"]+")?$/;

/** One block. */
export interface ShellBlock {
  /** From the root of the repository. */
  readonly page: string;
  /** The line of its first command, counted from 1. */
  readonly line: number;
  /** The text after `sh`, which may be empty. */
  readonly how: string;
  readonly commands: string;
}

/**
 * All blocks of README, CONTRIBUTING and `docs/`, by page and line.
 * @throws {Error} when a block says how it is tried in none of the ways above
 */
export function shellBlocks(): readonly ShellBlock[] {
  const pages = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: ROOT }).toSorted();
  return pages.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8')));
}

/** The blocks of one page that are run by a script. */
export function blocksRunBy(script: string): readonly ShellBlock[] {
  return shellBlocks().filter(({ how }) => how === `by=${script}`);
}

function blocksOf(page: string, text: string): ShellBlock[] {
  const lines = text.split('\n');
  return lines.flatMap((first, index) => {
    const how = first.match(FIRST_LINE)?.groups?.how ?? '';
    if (!FIRST_LINE.test(first)) return [];
    const line = index + 2;
    if (!HOW.test(how)) throw new Error(`${page}:${line}: a block cannot be tried by "${how}"`);
    const end = lines.indexOf('```', index + 1);
    return [{ page, line, how, commands: lines.slice(index + 1, end).join('\n') }];
  });
}
