/**
 * The store in the file `millrace.db` of the data folder, with a write-ahead log. Every commit is flushed to the disk before it is
 * acknowledged.
 *
 * SQLite's calls block, so they run in two worker threads. One writes, and one reads on its own connection and never waits for a slow
 * commit.
 */
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Milliseconds } from '#lib/units.ts';
import type { Engine, EngineOptions, Query } from '#store/engine.ts';
import { Listeners } from '#store/listeners.ts';
import { applyMigrations, schemaState } from '#store/migrations.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { bindable } from './bindable.ts';
import { holdFolder } from './folder-lock.ts';
import { kyselyOn, sqliteCompiler } from './sqlite/dialect.ts';
import type { Faults } from './sqlite/faults.ts';
import { prepareFolder } from './sqlite/folder.ts';
import { proveWritable, sqliteOpenError } from './sqlite/open-failure.ts';
import type { Call, Role, Rows } from './sqlite/protocol.ts';
import { WalIndex } from './sqlite/wal-index.ts';
import { WorkerLane } from './sqlite/worker-lane.ts';

/** Milliseconds that opening waits for another process's write. */
const OPEN_TIMEOUT_MS = 5000;

/** The database's clock is that of the machine. */
const NOW = sql<Milliseconds>`cast(round(unixepoch('subsec') * 1000) as integer)`;

/**
 * Opens the database in `options.dataDir`, which is created when it is missing. It blocks the event loop, so call it before serving.
 * @param faults only for tests
 * @throws {StoreOpenError}
 */
export async function openSqlite(options: EngineOptions, faults?: Faults): Promise<Engine> {
  const path = prepareFolder(options.dataDir);
  const hold = options.exclusive ? holdFolder(options.dataDir) : undefined;
  try {
    await updateSchema(path, options);
  } catch (error) {
    hold?.[Symbol.dispose]();
    throw sqliteOpenError(error, path);
  }

  const listeners = new Listeners(options.logger);
  const tell = (announcement: string | undefined) => listeners.tell(announcement);
  const lane = (role: Role, timeoutMs: number) =>
    new WorkerLane({ ...options, job: { role, path, faults }, timeoutMs, tell });
  const reads = lane('read', options.readTimeoutMs);
  const writes = lane('write', options.writeTimeoutMs);
  const index = new WalIndex(path);
  let closed: Promise<void> | undefined;
  const close = async () => {
    // The last connection copies the log into the database and removes it. The reading connection may not write, so it is closed first.
    await reads.close();
    await writes.close();
    index[Symbol.dispose]();
    hold?.[Symbol.dispose]();
  };

  const rowsOf = async (query: Call[number]): Promise<Rows> => {
    query.parameters.forEach(bindable);
    const answer = await reads.submit([query]);
    if (answer.kind !== 'rows') throw new Error('the reader gave no rows');
    return answer;
  };

  return {
    isShared: false,
    now: NOW,
    patched: (column, change) => sql`json_patch(${sql.ref(column)}, ${change})`,
    // SQLite runs one write at a time.
    skipLocked: sql``,
    contains: (column, text) => sql`instr(${sql.ref(column)}, ${text}) > 0`,
    compiler: sqliteCompiler(),
    version: () => index.version(),

    read: async <Row>(query: Query<Row>) => recordsOf(await rowsOf(query)) as Row[],

    async readFirst<Row>(query: Query<Row>, maxBytes: number) {
      const answer = await rowsOf({ ...query, maxBytes });
      return { rows: recordsOf(answer) as Row[], sizeBytes: answer.sizeBytes, isCut: answer.isCut };
    },

    async write(queries, announcements = []) {
      for (const { parameters } of queries) parameters.forEach(bindable);
      if (queries.length === 0) {
        announcements.forEach(tell);
        return [];
      }
      const answer = await writes.submit(queries, announcements);
      if (answer.kind !== 'changes') throw new Error('the writer gave no changes');
      return answer.changes.map((changes) => ({ changes }));
    },

    listen: (listener) => listeners.add(listener),

    [Symbol.asyncDispose]() {
      closed ??= close();
      return closed;
    },
  };
}

/**
 * Brings the schema up to date in one transaction, and makes sure that the file can be written to. Only the holder of the folder changes
 * the schema, so that it never changes under a running server.
 */
async function updateSchema(path: string, { dataDir, exclusive }: EngineOptions): Promise<void> {
  using db = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS });
  const kysely = kyselyOn(db);
  const before = await schemaState(kysely);
  if (before.state === 'newer') throw new StoreOpenError('newer_schema', path, before.migration);
  using _hold = before.state === 'older' && !exclusive ? holdForUpdate(dataDir, path) : undefined;

  const [journal] = db.prepare('PRAGMA journal_mode = WAL').all();
  if (journal?.journal_mode !== 'wal') {
    throw new StoreOpenError('unusable', path, 'its file system cannot keep a write-ahead log');
  }
  db.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
  proveWritable(db);
  // The state is read again, because another process may have updated the schema in the meantime.
  if ((await schemaState(kysely)).state === 'older') await applyMigrations(kysely);
  db.exec('COMMIT');
}

function holdForUpdate(dataDir: string, path: string): Disposable {
  try {
    return holdFolder(dataDir);
  } catch (error) {
    if (error instanceof StoreOpenError && error.code === 'in_use') throw new StoreOpenError('outdated_schema', path);
    throw error;
  }
}

/** One record for each row of an answer. */
function recordsOf({ rows, columns }: Rows): Record<string, unknown>[] {
  return rows.map((values) => {
    const record: Record<string, unknown> = {};
    for (let index = 0; index < columns.length; index += 1) record[columns[index] as string] = values[index];
    return record;
  });
}
