/**
 * Adds assets, and the folder of a session's recording. Recordings and clips are one table, because they are listed, shown and played alike.
 *
 * The indexes serve the lists of `queries/assets.ts`: each begins with the columns that must be equal and continues with those of the order.
 * Those of lists hold no deleted assets.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The kind as the expression of `alsoIs` in `queries/lists.ts`. It is part of the index by stream, because a stream may have very many clips,
 * which a list of its recordings must not read. As an expression, it keeps the query planner from choosing an index by kind instead.
 */
const KIND = "(kind || '')";

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column recording_path text`.execute(db);
  await sql`create table assets (
    id text primary key not null,
    kind text not null,
    user_id text not null,
    stream_id text not null,
    session_id text not null,
    playback_id text not null unique,
    path text not null unique,
    media_path text not null,
    clipped_from text,
    name text not null,
    name_search text not null,
    creator_id text,
    created_at bigint not null,
    updated_at bigint not null,
    ended_at bigint,
    phase text not null,
    failure text,
    from_ms bigint,
    until_ms bigint,
    duration_s double precision not null default 0,
    size_bytes bigint not null default 0,
    tracks text not null default '[]',
    node_id text not null,
    is_stored integer not null default 0,
    playback_policy text,
    delete_at bigint,
    deleted_at bigint,
    reported text not null default ''
  )`.execute(db);

  const lists = [
    ['all_of_user', ['user_id']],
    ['all_of_everyone', []],
    ['by_creator_of_user', ['user_id', 'creator_id']],
    ['by_creator_of_everyone', ['creator_id']],
    ['by_phase_of_user', ['user_id', 'phase']],
    ['by_phase_of_everyone', ['phase']],
    ['by_kind_of_user', ['user_id', 'kind']],
    ['by_kind_of_everyone', ['kind']],
    ['by_session', ['session_id']],
    ['by_stream', ['stream_id', KIND]],
    ['by_origin', ['clipped_from']],
  ] as const;
  for (const [name, leading] of lists) {
    for (const [order, time] of [
      ['age', 'created_at'],
      ['change', 'updated_at'],
    ] as const) {
      // The index of all assets also holds the names, for searches.
      const columns = [...leading, time, 'id', ...(name.startsWith('all') ? ['name_search'] : [])];
      const on = sql.join(columns.map((column) => (column === KIND ? sql.raw(KIND) : sql.ref(column))));
      await sql`create index ${sql.ref(`assets_${name}_by_${order}`)} on assets (${on}) where deleted_at is null`.execute(
        db,
      );
    }
  }
  // Few are unsettled at a time. The concatenation keeps the query planner away from the indexes by phase.
  await sql`create index assets_unsettled on assets (created_at, id)
    where deleted_at is null and phase || '' in ('recording', 'storing')`.execute(db);
  await sql`create index assets_due on assets (delete_at, id) where deleted_at is null and delete_at is not null`.execute(
    db,
  );
  await sql`create index assets_ended on assets (ended_at, id)
    where deleted_at is null and ended_at is not null`.execute(db);
  await sql`create index assets_deleting on assets (id) where phase = 'deleting'`.execute(db);
  await sql`create index assets_deleted on assets (deleted_at, id) where phase = 'deleted'`.execute(db);
}

/** Adds a column to sessions, and the table of assets. */
export const assets: Migration = { up };
