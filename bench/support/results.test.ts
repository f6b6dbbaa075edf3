import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PLAYERS_PAGE } from './players-table.ts';
import { playersPage, resultsPage } from './results.ts';

test('bench/README.md is what results.json and introduction.md make of it', () => {
  assert.equal(readFileSync(join(import.meta.dirname, '../README.md'), 'utf8'), resultsPage());
});

test('the table in docs/11-players.md is what results.json makes of it', () => {
  assert.equal(readFileSync(PLAYERS_PAGE, 'utf8'), playersPage());
});
