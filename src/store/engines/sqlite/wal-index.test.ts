import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, it, mock, type TestContext } from 'node:test';
import { WalIndex } from './wal-index.ts';

let folder: string;
let path: string;

beforeEach((test) => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-wal-index-'));
  path = join(folder, 'millrace.db');
  mock.timers.enable({ apis: ['setTimeout'] });
  (test as TestContext).after(() => {
    mock.timers.reset();
    rmSync(folder, { recursive: true, force: true });
  });
});

function databaseAt(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS number (value)');
  return database;
}

const insert = (database: DatabaseSync) => database.exec('INSERT INTO number VALUES (1)');
/** Lets the time pass after which a file that was moved or replaced is noticed. */
const nextLook = () => mock.timers.tick(10);

describe('the version of a database', () => {
  it('stays the same while the database is only read, and changes with every commit before the commit is acknowledged', () => {
    using database = databaseAt(path);
    using index = new WalIndex(path);
    const seen = [index.version()];
    assert.equal(typeof seen[0], 'number');
    for (let commit = 0; commit < 20; commit += 1) {
      insert(database);
      const after = index.version();
      assert.ok(!seen.includes(after));
      seen.push(after);
      database.prepare('SELECT count(*) FROM number').get();
      assert.equal(index.version(), after);
    }
  });

  it('changes when another process commits', () => {
    using _database = databaseAt(path);
    using index = new WalIndex(path);
    const before = index.version();
    inAnotherProcess(`database.exec('INSERT INTO number VALUES (1)')`);
    assert.notEqual(index.version(), before);
  });

  it('changes when the log restarts after it was copied into the database', () => {
    using database = databaseAt(path);
    using index = new WalIndex(path);
    const seen = new Set<number | undefined>();
    for (let round = 0; round < 5; round += 1) {
      insert(database);
      seen.add(index.version());
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    }
    assert.equal(seen.size, 5);
  });

  it('is unknown while nobody has the database open, and is a new one afterwards', () => {
    using index = new WalIndex(path);
    assert.equal(index.version(), undefined);
    const first = databaseAt(path);
    const before = index.version();
    assert.equal(typeof before, 'number');
    first.close();
    inAnotherProcess(`database.exec('INSERT INTO number VALUES (1)')`);
    nextLook();
    assert.equal(index.version(), undefined);
    // Its log is as empty as that of the first database.
    using _second = databaseAt(path);
    assert.notEqual(index.version(), before);
  });

  it('is unknown while the folder is moved away', () => {
    using database = databaseAt(path);
    using index = new WalIndex(path);
    index.version();
    renameSync(folder, `${folder}-away`);
    nextLook();
    assert.equal(index.version(), undefined);
    renameSync(`${folder}-away`, folder);
    const back = index.version();
    assert.equal(typeof back, 'number');
    insert(database);
    assert.notEqual(index.version(), back);
  });

  it('is that of the database that took its place', () => {
    using _old = databaseAt(path);
    using index = new WalIndex(path);
    const before = index.version();
    for (const file of readdirSync(folder)) rmSync(join(folder, file));
    using other = databaseAt(path);
    nextLook();
    const after = index.version();
    assert.notEqual(after, before);
    insert(other);
    assert.notEqual(index.version(), after);
  });
});

it('never makes SQLite lose its locks', () => {
  using database = databaseAt(path);
  {
    using index = new WalIndex(path);
    index.version();
    database.exec('BEGIN IMMEDIATE');
    // Another file in its place makes it close the index.
    renameSync(path, `${path}-away`);
    writeFileSync(path, '');
    nextLook();
    index.version();
    renameSync(`${path}-away`, path);
    nextLook();
    index.version();
  }
  assert.throws(() => inAnotherProcess(`database.exec('BEGIN IMMEDIATE')`), /database is locked/);
});

function inAnotherProcess(act: string): void {
  const script = `const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}); ${act}`;
  execFileSync(process.execPath, ['--eval', script], { stdio: 'pipe' });
}
