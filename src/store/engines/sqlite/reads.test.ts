import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '#lib/clock.ts';
import { SqliteConnection } from './connection.ts';
import { runReads } from './reads.ts';

test('a batch ends with the answer that brings it to a megabyte, so that the event loop gets no more at once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-reads-'));
  try {
    const path = join(folder, 'some.db');
    new DatabaseSync(path).close();
    const connection = new SqliteConnection(path, 'read', systemClock);
    const large = [{ sql: "select printf('%.*c', 600000, 'x') as text", parameters: [] }];
    const small = [{ sql: 'select 1 as one', parameters: [] }];
    const kinds = (calls: readonly (typeof large)[]) => runReads(connection, calls).map(({ kind }) => kind);
    assert.deepEqual(kinds([small, large, large, large, small]), ['rows', 'rows', 'rows']);
    assert.deepEqual(kinds([large]), ['rows']);
    assert.equal(kinds(Array.from({ length: 100 }, () => small)).length, 100);
    connection.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
