import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { Migrator } from 'kysely/migration';
import { Client } from 'pg';
import { kyselyOn as kyselyOnPostgres } from '#store/engines/postgres/dialect.ts';
import { kyselyOn } from '#store/engines/sqlite/dialect.ts';
import { MIGRATIONS } from '#store/migrations.ts';
import { putEmptyStore } from '../support/empty-store.ts';
import { startPostgres } from '../support/postgres.ts';
import { needs } from '../support/tools.ts';
import { CommandLines } from './command-line.ts';
import { dataFolder, serve, storeFolder } from './millrace.ts';

const commandLines = new CommandLines();
const { run } = commandLines;
after(() => commandLines[Symbol.asyncDispose]());

describe('millrace migrate', () => {
  test('prints what it does, and then that there is nothing to do', async (t) => {
    const settings = { DATA_DIR: await dataFolder(t) };
    const path = join(settings.DATA_DIR, 'millrace.db');
    await makeOlderStore(path);
    const before = await run(['migrate', '--status'], { settings });
    assert.match(before.stdout, /^\S+millrace\.db\n(done {5}\d{4}-\S+\n)+pending {2}\d{4}-\S+\n$/);

    const done = await run(['migrate'], { settings });
    assert.deepEqual([done.code, done.stderr], [0, '']);
    assert.match(done.stdout, /^done {5}\d{4}-\S+\n$/);
    const after = await run(['migrate', '--status'], { settings });
    assert.equal(after.stdout, before.stdout.replace('pending  ', 'done     '));
    assert.match((await run(['migrate'], { settings })).stdout, /^\S+millrace\.db is up to date\.\n$/);
  });

  test('and every other command fail when no server has created a store, and create none', async (t) => {
    const folder = await dataFolder(t);
    const settings = { DATA_DIR: join(folder, 'data') };
    for (const args of [
      ['migrate'],
      ['migrate', '--status'],
      ['keys', 'create', '--name', 'a', '--user', 'b'],
      ['users', 'list'],
      ['backup', join(folder, 'copy')],
    ]) {
      const { code, stdout, stderr } = await run(args, { settings });
      assert.deepEqual([code, stdout], [4, ''], args.join(' '));
      assert.equal(
        stderr,
        `There is no database ${settings.DATA_DIR}/millrace.db; start the server once, or set MILLRACE_DATA_DIR to its folder.\n`,
      );
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  test('recognises a database of a newer version, and does not change it', async (t) => {
    const settings = { DATA_DIR: await storeFolder(t) };
    inDatabase(join(settings.DATA_DIR, 'millrace.db'), (db) =>
      db.exec("insert into kysely_migration values ('9999-from-the-future', '2099-01-01')"),
    );
    assert.match((await run(['migrate', '--status'], { settings })).stdout, /^unknown {2}9999-from-the-future /m);
    const refused = await run(['migrate'], { settings });
    assert.equal(refused.code, 4);
    assert.match(refused.stderr, /newer Millrace.*9999-from-the-future.*\.\n$/);
  });

  test('works with PostgreSQL, and never shows the password', async (t) => {
    await using server = await startPostgres();
    const settings = { DATA_DIR: await dataFolder(t), DATABASE_URL: await server.newDatabase() };
    const runs = [
      await run(['keys', 'list'], { settings }),
      await run(['migrate', '--status'], { settings }),
      await run(['migrate'], { settings }),
      await run(['migrate'], { settings }),
      await run(['backup', "it's.dump"], { settings }),
      await run(['restore', "it's.dump"], { settings }),
      await run(['migrate'], { settings: { ...settings, DATABASE_URL: `${settings.DATABASE_URL}_none` } }),
    ];
    assert.deepEqual(
      runs.map(({ code }) => code),
      [4, 0, 0, 0, 1, 1, 4],
    );
    assert.match(runs[0]!.stderr, /test_1 holds no Millrace store; .* MILLRACE_DATABASE_URL\.\n$/);
    assert.match(runs[1]!.stdout, /^127\.0\.0\.1:\d+\/test_1\n(pending {2}\d{4}-\S+\n)+$/);
    assert.match(runs[2]!.stdout, /^(done {5}\d{4}-\S+\n)+$/);
    assert.match(runs[3]!.stdout, /is up to date\.\n$/);
    assert.match(runs[4]!.stderr, /pg_dump --format=custom .*--file='it'\\''s\.dump' --dbname='postgres:\/\/127\.0/);
    assert.match(
      runs[5]!.stderr,
      /Stop every server.*\n {2}.*pg_restore --file='it'\\''s\.dump\.millrace-restore\.sql' 'it'\\''s\.dump'\) &&\n {2}psql .*&&\n {2}rm /,
    );
    for (const { stdout, stderr } of runs) {
      for (const planted of [server.user, server.password]) assert.ok(!(stdout + stderr).includes(planted));
    }
  });
});

test('a backup of an older version can be restored into a database of this one in PostgreSQL', async (t) => {
  await using server = await startPostgres();
  const url = await server.newDatabase();
  const settings = { DATA_DIR: await dataFolder(t), DATABASE_URL: url };
  assert.equal((await run(['migrate'], { settings })).code, 0);
  const printed = await run(['restore', 'old.dump'], { settings });
  const setAside = /psql .* --command='(create [^']*)'/.exec(printed.stderr)?.[1];
  await server.query(setAside!, url);
  const kept = await server.query("select from pg_tables where schemaname = 'replaced'", url);
  // What `pg_restore` makes of the backup, without which Kysely takes its tables in the other schema for present.
  await server.query('drop table replaced.kysely_migration, replaced.kysely_migration_lock', url);
  const client = new Client({ connectionString: url });
  await client.connect();
  const provider = { getMigrations: async () => MIGRATIONS };
  const restored = await new Migrator({ db: kyselyOnPostgres(client), provider }).migrateTo('0007-assets');
  await client.end();
  assert.equal(restored.error, undefined);
  const skip = /psql .* --command='(reset [^']*)'/.exec(printed.stderr)?.[1];
  await server.query(skip!, url);
  assert.deepEqual(await server.query('select last from event_sequence', url), [{ last: '1000000000' }]);
  const updated = await run(['migrate'], { settings });
  assert.deepEqual([updated.code, updated.stderr], [0, '']);
  assert.match(updated.stdout, /^done {5}0008-/);
  const now = await server.query("select from pg_tables where schemaname = 'public'", url);
  assert.equal(kept.length, now.length);
});

test('a restore into PostgreSQL that fails changes nothing, and can be repeated', needs('psql'), async (t) => {
  await using server = await startPostgres();
  const folder = await dataFolder(t);
  const url = await server.newDatabase();
  const settings = { DATA_DIR: join(folder, 'data'), DATABASE_URL: url };
  await run(['migrate'], { settings });
  await run(['keys', 'create', '--name', 'present', '--user', 'ann'], { settings });
  const keys = async () => (await run(['keys', 'list'], { settings })).stdout;
  assert.match(await keys(), /present/);

  // In place of the real one, which reads only backups of pg_dump, and that has to be as new as the server.
  writeFileSync(join(folder, 'pg_restore'), '#!/bin/sh\ncat "$2" > "${1#--file=}"\n', { mode: 0o755 });
  const restore = async (name: string) => {
    const printed = await run(['restore', join(folder, name)], { settings });
    const commands = printed.stderr.match(/^ {2}.*/gm)!.join('\n');
    const PATH = `${folder}:${process.env.PATH}`;
    const env = { ...process.env, PATH, PGUSER: server.user, PGPASSWORD: server.password };
    return spawnSync('sh', ['-c', commands], { env, encoding: 'utf8' });
  };
  const backup = `
    select pg_catalog.set_config('search_path', '', false);
    create table public.event_sequence (last bigint);
    insert into public.event_sequence values (5);`;
  writeFileSync(join(folder, 'damaged'), `${backup}\nselect nonsense;`);
  writeFileSync(join(folder, 'whole'), backup);
  writeFileSync(join(folder, 'whole.sql'), 'a plain dump');
  for (const name of ['missing', 'damaged']) {
    assert.notEqual((await restore(name)).status, 0, name);
    assert.match(await keys(), /present/, name);
  }
  const done = await restore('whole');
  assert.equal(done.status, 0, done.stderr);
  // The operator has it beside the backup.
  assert.equal(readFileSync(join(folder, 'whole.sql'), 'utf8'), 'a plain dump');
  const left = readdirSync(folder).filter((name) => name.startsWith('whole.'));
  assert.deepEqual(left, ['whole.sql'], 'the SQL of the backup is deleted');
  assert.deepEqual(await server.query('select last from event_sequence', url), [{ last: '1000000005' }]);
  assert.deepEqual(await server.query('select name from replaced.api_keys', url), [{ name: 'present' }]);
});

describe('millrace backup and restore', () => {
  test('restore the data, and keep the replaced database', async (t) => {
    const folder = await dataFolder(t);
    const file = join(folder, 'copy.db');
    const settings = { DATA_DIR: join(folder, 'data') };
    const server = await serve(t, { settings });
    const createKey = (name: string) => run(['keys', 'create', '--name', name, '--user', 'ann'], { settings });
    await createKey('before');

    const written = await run(['backup', file], { settings });
    assert.equal(written.stdout, `Wrote ${file} (${statSync(file).size} bytes).\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await createKey('after');
    const again = await run(['backup', file], { settings });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /already exists; .*--force\.\n$/);
    assert.deepEqual(readdirSync(folder).toSorted(), ['copy.db', 'data'], 'nothing is left beside it');

    const beside = await run(['restore', file], { settings });
    assert.equal(beside.code, 4);
    assert.match(beside.stderr, /in use by another Millrace server/);
    server.child.kill('SIGTERM');
    await server.finished;

    const restored = await run(['restore', file], { settings });
    assert.equal(restored.code, 0, restored.stderr);
    const replaced = /^The old database is now (\S+)\.$/m.exec(restored.stdout)?.[1];
    const lastNumber = (path: string) => {
      using db = new DatabaseSync(path, { readOnly: true });
      return db.prepare('select last from event_sequence').get()!.last as number;
    };
    assert.equal(lastNumber(join(settings.DATA_DIR, 'millrace.db')), lastNumber(file) + 1_000_000_000);
    const keys = await run(['keys', 'list'], { settings });
    assert.match(keys.stdout, /before/);
    assert.doesNotMatch(keys.stdout, /after/);
    assert.ok(replaced !== undefined && namesIn(replaced).includes('after'));
    assert.equal(statSync(join(settings.DATA_DIR, 'millrace.db')).mode & 0o777, 0o600);

    const forced = await run(['backup', file, '--force'], { settings });
    assert.equal(forced.code, 0, forced.stderr);
    assert.ok(namesIn(file).includes('before'));
  });

  test('restore creates a store where there is none, and nothing for a file that is not a backup', async (t) => {
    const folder = await dataFolder(t);
    const file = join(folder, 'copy.db');
    await run(['backup', file], { settings: { DATA_DIR: await storeFolder(t) } });
    writeFileSync(join(folder, 'letter'), 'This is a letter.');
    const settings = { DATA_DIR: join(folder, 'new', 'data') };
    for (const name of ['missing', 'letter']) {
      const { code, stdout } = await run(['restore', join(folder, name)], { settings });
      assert.deepEqual([code, stdout], [4, ''], name);
    }
    assert.deepEqual(readdirSync(folder).toSorted(), ['copy.db', 'letter']);

    const { code, stdout } = await run(['restore', file], { settings });
    assert.equal(code, 0);
    assert.equal(stdout, `Restored ${file}. The database is ${settings.DATA_DIR}/millrace.db.\n`);
    const modes = ['', 'millrace.db', 'millrace.lock'].map((name) => statSync(join(settings.DATA_DIR, name)).mode);
    assert.deepEqual(
      modes.map((mode) => mode & 0o777),
      [0o700, 0o600, 0o600],
    );
    assert.equal((await run(['keys', 'list'], { settings })).code, 0);
  });

  test('restore includes the write-ahead log of a killed server in the database that it keeps', async (t) => {
    const folder = await dataFolder(t);
    const settings = { DATA_DIR: join(folder, 'data') };
    const server = await serve(t, { settings });
    const file = join(folder, 'copy.db');
    await run(['backup', file], { settings });
    await run(['keys', 'create', '--name', 'only in the log', '--user', 'ann'], { settings });
    server.child.kill('SIGKILL');
    await server.finished;
    assert.ok(existsSync(join(settings.DATA_DIR, 'millrace.db-wal')));
    const { stdout } = await run(['restore', file], { settings });
    const replaced = /is now (\S+)\.$/m.exec(stdout)?.[1];
    assert.ok(namesIn(replaced!).includes('only in the log'));
    assert.ok(!namesIn(join(settings.DATA_DIR, 'millrace.db')).includes('only in the log'));
  });

  test('refuse a file that is not a backup, or cannot be written, in one sentence', async (t) => {
    const folder = await dataFolder(t);
    const settings = { DATA_DIR: join(folder, 'data') };
    const missing = await run(['backup', join(folder, 'copy.db')], { settings });
    assert.deepEqual([missing.code, missing.stderr.split('\n').length], [4, 2]);
    mkdirSync(settings.DATA_DIR);
    await putEmptyStore(settings.DATA_DIR);

    const [letter, empty, other, damaged] = ['letter', 'empty', 'other', 'damaged'].map((name) => join(folder, name));
    writeFileSync(letter!, 'This is a letter to my grandmother, not a database. '.repeat(100));
    writeFileSync(empty!, '');
    inDatabase(other!, (db) => db.exec('create table letters (id text)'));
    await run(['backup', damaged!], { settings });
    writeFileSync(damaged!, readFileSync(damaged!).fill(0xff, 8192, 8292));
    for (const file of [letter!, empty!, other!, damaged!, folder]) {
      const { code, stdout, stderr } = await run(['restore', file], { settings });
      assert.deepEqual([code, stdout], [4, ''], file);
      assert.match(stderr, /^[^\n]+ is not a backup of Millrace \([^\n]+\); nothing was changed\.[^\n]+\.\n$/);
    }
    const absent = await run(['restore', join(folder, 'nowhere')], { settings });
    assert.equal(absent.code, 4);
    assert.match(absent.stderr, /^[^\n]+ cannot be read \(ENOENT[^\n]+\); nothing was changed\.[^\n]+\.\n$/);
    assert.deepEqual(readdirSync(settings.DATA_DIR), ['millrace.db']);

    const nowhere = await run(['backup', join(folder, 'not', 'there')], { settings });
    assert.equal(nowhere.code, 4);
    assert.match(nowhere.stderr, /^[^\n]+ cannot be written \([^\n]+\.\n$/);
  });

  test('accept exactly one file', async (t) => {
    const settings = { DATA_DIR: await dataFolder(t) };
    for (const args of [
      ['backup'],
      ['backup', ''],
      ['backup', 'a', 'b'],
      ['backup', 'a', '--secret-typed-here'],
      ['restore'],
      ['restore', 'a', 'b'],
      ['restore', 'a', '--force'],
      ['migrate', 'secret-typed-here'],
    ]) {
      const { code, stdout, stderr } = await run(args, { settings });
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, /See millrace \w+ --help\.\n$/);
      assert.ok(!stderr.includes('secret'));
    }
  });
});

function inDatabase<Result>(path: string, act: (db: DatabaseSync) => Result): Result {
  using db = new DatabaseSync(path);
  return act(db);
}

/** The database of a version that knew all migrations but the newest. */
async function makeOlderStore(path: string): Promise<void> {
  using db = new DatabaseSync(path);
  const getMigrations = async () => Object.fromEntries(Object.entries(MIGRATIONS).slice(0, -1));
  const { error } = await new Migrator({ db: kyselyOn(db), provider: { getMigrations } }).migrateToLatest();
  assert.equal(error, undefined);
}

/** Names of the API keys in a file. */
const namesIn = (path: string) =>
  inDatabase(path, (db) =>
    db
      .prepare('select name from api_keys')
      .all()
      .map(({ name }) => name),
  );
