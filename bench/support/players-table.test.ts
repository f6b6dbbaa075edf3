import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { playersQuestion } from '../players.ts';
import { PLAYERS_PAGE, withPlayersTable } from './players-table.ts';
import type { PlayerResult } from './question.ts';

const PAGE = readFileSync(PLAYERS_PAGE, 'utf8');
const measured = (players: readonly PlayerResult[]) => ({
  question: playersQuestion('publisher away for 5 s'),
  measured: '1 of 2',
  mustReach: 'all',
  reached: false,
  players,
});
/** The cells of a player after its name. */
const cellsOf = (page: string, player: string) =>
  page
    .split('\n')
    .find((line) => line.startsWith(`| ${player} | `) && line.split('|').length === 9)!
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());

test('the table of players shows what each did in each case, in bold where it missed the limit, and has empty cells for what was not measured', () => {
  const page = withPlayersTable(PAGE, [
    measured([
      { name: 'Shaka', result: '1.4 s', reached: true },
      { name: 'VLC', result: '6.9 s', reached: false },
    ]),
  ]);
  assert.deepEqual(cellsOf(page, 'Shaka'), ['', '', '1.4 s', '', '', '']);
  assert.deepEqual(cellsOf(page, 'VLC'), ['', '', '**6.9 s**', '', '', '']);
  assert.deepEqual(cellsOf(page, 'mpv'), ['', '', '', '', '', '']);
});

test('the table of players replaces the previous one, and leaves the rest of the page as it is', () => {
  const row = measured([{ name: 'Shaka', result: '1.4 s', reached: true }]);
  assert.equal(withPlayersTable(withPlayersTable(PAGE, [row]), []), withPlayersTable(PAGE, []));
  assert.throws(() => withPlayersTable('no place', [row]), /the page has no lines/);
});
