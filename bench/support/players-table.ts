/**
 * The table of players by case in `docs/11-players.md`, from the results of the bench of players.
 */
import { join } from 'node:path';
import { PLAYER_NAMES } from '../../test/support/players/all-players.ts';
import { type PlayersCase, playersQuestion } from '../players.ts';
import type { Answer } from './question.ts';

/** The file with the table. */
export const PLAYERS_PAGE = join(import.meta.dirname, '../../docs/11-players.md');

/** The lines of {@link PLAYERS_PAGE} between which the table is. */
const BEGIN = '<!-- Written by bench/support/players-table.ts from bench/results.json. -->';
const END = '<!-- The end of what bench/support/players-table.ts writes. -->';

/** The columns, and the case that each of them shows. */
const COLUMNS: Readonly<Record<string, PlayersCase>> = {
  'opened at the start': 'opened 0 s after publishing began, then a clean stop',
  'opened 120 s later': 'opened 120 s after publishing began, then a clean stop',
  'away 5 s': 'publisher away for 5 s',
  'away 25 s': 'publisher away for 25 s',
  'another size':
    'publisher returns after 3 s with another size: until a player, which first plays what it has, ends or shows the next session',
  'clean stop': 'clean stops of sessions of 8 s',
};

/**
 * Replaces the table in a page. A cell is empty when its player or its case was not measured, and bold when the player missed the limit.
 * @throws {Error} when the page has no place for the table
 */
export function withPlayersTable(page: string, answers: readonly Answer[]): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`the page has no lines ${BEGIN} and ${END}`);
  const results = Object.values(COLUMNS).map(
    (name) => answers.find(({ question }) => question === playersQuestion(name))?.players ?? [],
  );
  const lines = PLAYER_NAMES.map((player) => {
    const cells = results.map((players) => {
      const found = players.find(({ name }) => name === player);
      return found === undefined || found.reached ? (found?.result ?? '') : `**${found.result}**`;
    });
    return row([player, ...cells]);
  });
  const head = ['player', ...Object.keys(COLUMNS)];
  const table = [row(head), `|${'---|'.repeat(head.length)}`, ...lines].join('\n');
  return `${page.slice(0, begin)}${BEGIN}\n\n${table}\n\n${page.slice(end)}`;
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
