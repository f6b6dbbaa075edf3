/**
 * Adds deleted and tagged streams, session measurements, admins, access rules of keys, the nodes that share the database, repeatable
 * requests, and the audit log.
 *
 * The indexes serve the lists of `queries/lists.ts`: each begins with the columns that must be equal and continues with those of the order.
 * Partial indexes for live streams and for streams with a creator hold only those rows. No index holds deleted streams.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await changeUsersAndKeys(db);
  await changeStreams(db);
  await changeSessions(db);

  await db.schema
    .createTable('nodes')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('lease_until', 'bigint', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('publishers')
    .addColumn('stream_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('node_id', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('publishers_by_node').on('publishers').column('node_id').execute();

  await db.schema
    .createTable('secrets')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('idempotency')
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('key_hash', 'text', (column) => column.notNull())
    .addColumn('body_hash', 'text', (column) => column.notNull())
    .addColumn('claimed_at', 'bigint', (column) => column.notNull())
    .addColumn('answer', 'text')
    .addPrimaryKeyConstraint('idempotency_key', ['user_id', 'route', 'key_hash'])
    .execute();
  await db.schema.createIndex('idempotency_by_age').on('idempotency').column('claimed_at').execute();

  await db.schema
    .createTable('audit')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('user_id', 'text')
    .addColumn('key_id', 'text')
    .addColumn('key_name', 'text')
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('resource_id', 'text', (column) => column.notNull())
    .addColumn('fields', 'text', (column) => column.notNull())
    .addColumn('remote_address', 'text')
    .addColumn('request_id', 'text')
    .addPrimaryKeyConstraint('audit_by_age', ['at', 'id'])
    .execute();
  await db.schema.createIndex('audit_by_user').on('audit').columns(['user_id', 'at', 'id']).execute();
  await db.schema.createIndex('audit_by_resource').on('audit').columns(['resource_id', 'at', 'id']).execute();
}

async function changeUsersAndKeys(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'users', {
    is_admin: sql`integer not null default 0`,
    suspended: sql`integer not null default 0`,
  });
  await db.schema.createIndex('users_by_age').on('users').columns(['created_at', 'id']).execute();
  // The user that the first start created becomes an admin, because until now its key could do everything.
  await sql`update users set is_admin = 1 where id = (select id from users order by created_at, id limit 1)`.execute(
    db,
  );

  await addColumns(db, 'api_keys', { access: sql`text`, last_seen: sql`bigint not null default 0` });
  await createIndex(db, 'api_keys', 'by_user_and_age', ['user_id', 'created_at', 'id'], sql`revoked_at is null`);
}

async function changeStreams(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'streams', {
    record: sql`integer not null default 0`,
    creator_id: sql`text`,
    user_tags: sql`text`,
    last_terminated_at: sql`bigint`,
    health: sql`text`,
    deleted_at: sql`bigint`,
  });
  // Existing hashes go to shelves 00 to 0f by their first digit. New hashes use the same shelves.
  await sql`update streams set stream_key_hash = '0' || substr(stream_key_hash, 1, 1) || stream_key_hash`.execute(db);

  await db.schema.dropIndex('streams_by_user_and_age').execute();
  const there = sql`deleted_at is null`;
  await createListIndexes(db, 'streams', 'all', [], there);
  await createListIndexes(db, 'streams', 'active', [], sql`${there} and is_active = 1`);
  await createListIndexes(db, 'streams', 'by_creator', ['creator_id'], sql`${there} and creator_id is not null`);
}

async function changeSessions(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'sessions', {
    node_id: sql`text not null default ''`,
    record: sql`integer not null default 0`,
    source_bytes: sql`bigint not null default 0`,
    source_segments: sql`bigint not null default 0`,
    source_segments_duration: sql`double precision not null default 0`,
    transcoded_bytes: sql`bigint not null default 0`,
    transcoded_segments: sql`bigint not null default 0`,
    transcoded_segments_duration: sql`double precision not null default 0`,
    peak_viewers: sql`bigint not null default 0`,
    viewers: sql`bigint not null default 0`,
    health: sql`text`,
  });
  await db.schema.dropIndex('sessions_by_phase_and_age').execute();
  await createListIndexes(db, 'sessions', 'all', []);
  await createListIndexes(db, 'sessions', 'live', [], sql`phase = 'live'`);
  await createListIndexes(db, 'sessions', 'by_record', ['record']);
  await createIndex(db, 'sessions', 'by_stream_and_age', ['stream_id', 'created_at', 'id']);
  await createIndex(db, 'sessions', 'by_stream_and_last_seen', ['stream_id', 'last_seen', 'id']);
  await createIndex(db, 'sessions', 'open_by_age', ['created_at', 'id'], sql`phase <> 'ended'`);
  await createIndex(db, 'sessions', 'open_by_stream', ['stream_id', 'created_at', 'id'], sql`phase <> 'ended'`);
  await createIndex(db, 'sessions', 'open_by_node', ['node_id', 'created_at', 'id'], sql`phase <> 'ended'`);
  await createIndex(db, 'sessions', 'ended_by_end', ['ended_at', 'id'], sql`phase = 'ended'`);
}

/** Adds columns one at a time, because SQLite accepts only one. */
async function addColumns(db: Kysely<unknown>, table: string, columns: Record<string, RawBuilder<unknown>>) {
  for (const [name, definition] of Object.entries(columns)) {
    await sql`alter table ${sql.table(table)} add column ${sql.ref(name)} ${definition}`.execute(db);
  }
}

/** Creates the indexes of a list: for one user and for everybody, in each order. */
async function createListIndexes(
  db: Kysely<unknown>,
  table: string,
  name: string,
  leading: readonly string[],
  where?: RawBuilder<unknown>,
) {
  for (const [scope, owner] of [
    ['of_user', ['user_id']],
    ['of_everyone', []],
  ] as const) {
    for (const [order, time] of [
      ['age', 'created_at'],
      ['last_seen', 'last_seen'],
    ] as const) {
      await createIndex(db, table, `${name}_${scope}_by_${order}`, [...owner, ...leading, time, 'id'], where);
    }
  }
}

async function createIndex(
  db: Kysely<unknown>,
  table: string,
  name: string,
  columns: readonly string[],
  where?: RawBuilder<unknown>,
) {
  const on = sql.join(columns.map((column) => sql.ref(column)));
  const partial = where === undefined ? sql`` : sql` where ${where}`;
  await sql`create index ${sql.ref(`${table}_${name}`)} on ${sql.table(table)} (${on})${partial}`.execute(db);
}

/** Adds everything for managing streams, users and keys. */
export const manage: Migration = { up };
