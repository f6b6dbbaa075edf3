/**
 * A store with very many streams, filled with the rows that the store itself would make.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newAuditId } from '#domain/ids.ts';
import { newStream, type Stream } from '#domain/stream.ts';
import type { User } from '#domain/user.ts';
import { ms } from '#lib/units.ts';
import { KeyShelves } from '#store/key-shelf.ts';
import { openStore } from '#store/open-store.ts';
import { rowOfAudit } from '#store/queries/audit.ts';
import { rowOfStream } from '#store/queries/streams.ts';
import type { Receipt } from '#store/receipt.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import { someUser } from '../../test/support/sample-records.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

/** Rows written by one transaction. */
const BATCH = 20_000;

/** A store in a folder of its own, which is deleted with it. */
export interface FilledStore extends AsyncDisposable {
  readonly store: Store;
  /** Owns every stream. */
  readonly user: User;
}

/**
 * Opens a store.
 * @param folder the folder in which it gets one of its own, which decides on the disk
 * @param streams the number of streams in it at first
 */
export async function openFilledStore(folder: string, streams: number): Promise<FilledStore> {
  await using parts = new AsyncDisposableStack();
  const dataDir = parts.use(await temporaryFolder(folder)).path;
  const user = someUser();
  const open = () => openStore({ dataDir, exclusive: true, logger: silentLogger });
  {
    await using store = await open();
    await store.users.ensure(user);
  }
  fillDataDir(dataDir, user, streams);
  const store = parts.use(await open());
  const running = parts.move();
  return { store, user, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** A stream as the API makes it, by default with the present time. */
export const streamOf = (user: User, createdAt = Date.now()): Stream =>
  newStream({ userId: user.id, name: 'bench', createdAt: ms(createdAt), createdByTokenName: 'bench', profiles: [] });

/** The receipt that is stored with its creation. */
export const receiptOf = ({ id, createdAt, userId }: Stream): Receipt => ({
  audit: {
    id: newAuditId(),
    at: createdAt,
    actor: { userId, keyId: 'bench' as never, keyName: 'bench' },
    action: 'stream.created',
    resourceId: id,
    fields: [],
    remoteAddress: '127.0.0.1',
    requestId: 'bench',
  },
});

/** Fills the store of a folder, which nobody has open, with streams of one user. */
export function fillDataDir(dataDir: string, user: User, streams: number): void {
  using db = new DatabaseSync(join(dataDir, 'millrace.db'));
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 20000');
  const shelves = new KeyShelves();
  const insert = inserter(db);
  // As if they had been made one a millisecond until now.
  const start = Date.now() - streams;
  for (let made = 0; made < streams; made += 1) {
    if (made % BATCH === 0) db.exec('BEGIN');
    const stream = streamOf(user, start + made);
    insert('streams', rowOfStream(stream, shelves));
    insert('audit', rowOfAudit(receiptOf(stream).audit));
    if (made % BATCH === BATCH - 1 || made === streams - 1) db.exec('COMMIT');
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Inserts a row into a table, the statement prepared once. */
function inserter(db: DatabaseSync) {
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  return (table: string, row: object) => {
    let statement = statements.get(table);
    if (statement === undefined) {
      const columns = Object.keys(row);
      const marks = columns.map(() => '?').join();
      statement = db.prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${marks})`);
      statements.set(table, statement);
    }
    statement.run(...Object.values(row));
  };
}
