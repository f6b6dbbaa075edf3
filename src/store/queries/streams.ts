/**
 * Queries on streams. Except for `getAny` and the lists of `sessions.ts`, they find no deleted streams.
 */
import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import type { NodeId, UserId } from '#domain/ids.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import type { Profile } from '#domain/profile.ts';
import { searchableName } from '#domain/searchable-name.ts';
import { Secret } from '#domain/secret.ts';
import type { Stream, UserTags } from '#domain/stream.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, StreamsTable } from '#store/database.ts';
import type { Engine } from '#store/engine.ts';
import type { KeyShelves } from '#store/key-shelf.ts';
import { compilable, prepare } from '#store/prepared-query.ts';
import type { ListOrder, StreamChange } from '#store/store.ts';
import { countUpTo } from './count-up-to.ts';
import { columnOfHealth, healthOfColumn } from './health-column.ts';
import { alsoIs, type Condition, is, ORDER_COLUMNS, ofUser, type RangeArgs } from './lists.ts';
import { holdsLease, isAlive, type WriterArgs } from './nodes.ts';
import { isNotTakenFrom, isPublished } from './publishers.ts';
import { type ListChoice, listQueries } from './searchable-list.ts';

/** The columns that a stream is read from: all except the hash of its key and the time of its deletion. */
const COLUMNS = [
  'id',
  'user_id',
  'name',
  'created_at',
  'stream_key',
  'playback_id',
  'created_by_token_name',
  'profiles',
  'is_active',
  'last_seen',
  'suspended',
  'record',
  'creator_id',
  'user_tags',
  'playback_policy',
  'last_terminated_at',
  'terminations',
  'health',
] as const satisfies readonly (keyof StreamsTable)[];

/** The row of a stream as it is read. */
export type StreamRow = Pick<StreamsTable, (typeof COLUMNS)[number]>;

type Columns<Key extends keyof StreamsTable> = Pick<StreamsTable, Key>;

/** The id of a stream, limited to a user unless `user_id` is absent. */
export type StreamOfScope = Columns<'id'> & Partial<Columns<'user_id'>>;

/** The columns that a change sets. */
export type StreamChangeRow = Partial<
  Omit<
    StreamsTable,
    'id' | 'user_id' | 'created_at' | 'playback_id' | 'deleted_at' | 'terminations' | 'reported_active'
  >
>;

/** The filter and range of a list of streams. Absent fields do not filter. */
export type StreamListArgs = Partial<Columns<'user_id' | 'id' | 'playback_id' | 'creator_id' | 'name_search'>> &
  RangeArgs;

/** Prepares the queries for one engine. */
export function streamQueries({ compiler: db, now, contains }: Pick<Engine, 'compiler' | 'now' | 'contains'>) {
  const streams = db.selectFrom('streams').select(COLUMNS).where('deleted_at', 'is', null);

  /** Changes a stream that is not deleted. */
  function change(
    { id, user_id }: Columns<'id'> & { user_id?: UserId | undefined },
    row: StreamChangeRow & Partial<Columns<'deleted_at'>> & { terminations?: RawBuilder<number> },
  ) {
    return (
      db
        .updateTable('streams')
        // A change without fields still counts as a change: it is answered, logged and announced.
        .set(Object.keys(row).length > 0 ? row : { id })
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .where(ofUser({ user_id }))
    );
  }

  return {
    create: prepare((row: StreamsTable) => db.insertInto('streams').values(row)),

    get: prepare((args: Columns<'id'>) => streams.where('id', '=', args.id)),

    /** Streams by their ids. @param ids the ids under any keys; always the same number, so that the query is compiled once */
    getMany: prepare((ids: Readonly<Record<string, StreamsTable['id']>>) =>
      streams.where('id', 'in', Object.values(ids)),
    ),

    /** The ids of those streams that are suspended. @param ids as for `getMany` */
    suspended: prepare((ids: Readonly<Record<string, StreamsTable['id']>>) =>
      db
        .selectFrom('streams')
        .select('id')
        .where('deleted_at', 'is', null)
        .where('id', 'in', Object.values(ids))
        .where('suspended', '=', sql.lit(1)),
    ),

    /** The streams whose media is received. @param args.node_id only those that this node claimed last */
    active: prepare(({ node_id }: { readonly node_id?: NodeId }) => {
      const active = streams.where('is_active', '=', sql.lit(1 as const));
      if (node_id === undefined) return active;
      return active.where((eb) => eb.exists(publishersOf(eb).where('publishers.node_id', '=', node_id)));
    }),

    /** Like `getMany`, but includes deleted streams. */
    getAny: prepare((ids: Readonly<Record<string, StreamsTable['id']>>) =>
      db.selectFrom('streams').select(COLUMNS).where('id', 'in', Object.values(ids)),
    ),

    /** The stream with a key. @param hashes the key's hash on every shelf, under any keys */
    byStreamKeyHash: prepare((hashes: Readonly<Record<string, string>>) =>
      streams.where('stream_key_hash', 'in', Object.values(hashes)),
    ),

    /** The stream with this key, if it was deleted since. @param args.hashes as for `byStreamKeyHash` */
    deletedByStreamKeyHash: prepare(
      ({ since, ...hashes }: Readonly<Record<string, string>> & { readonly since: Milliseconds }) =>
        db
          .selectFrom('streams')
          .select(COLUMNS)
          .where('stream_key_hash', 'in', Object.values(hashes))
          .where('deleted_at', '>=', since),
    ),

    /** The stream that had a key before it was replaced. */
    byFormerKeyHash: prepare((args: { key_hash: string; since: Milliseconds }) =>
      db
        .selectFrom('former_stream_keys')
        .innerJoin('streams', 'streams.id', 'former_stream_keys.stream_id')
        .select(COLUMNS.map((column) => `streams.${column}` as const))
        .select('replaced_at')
        .where('key_hash', '=', args.key_hash)
        .where('replaced_at', '>=', args.since)
        .where('deleted_at', 'is', null),
    ),

    /** Keeps the hash of a stream's key, which is about to be replaced. */
    keepFormerKey: prepare((args: Columns<'id'> & { replaced_at: Milliseconds }) =>
      compilable(
        db,
        sql`insert into former_stream_keys (key_hash, stream_id, replaced_at)
          select substr(stream_key_hash, 3), id, cast(${args.replaced_at} as bigint) from streams
          where id = ${args.id} and deleted_at is null on conflict (key_hash) do nothing`,
      ),
    ),

    forgetFormerKeys: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .deleteFrom('former_stream_keys')
        .where('key_hash', 'in', (eb) =>
          eb
            .selectFrom('former_stream_keys')
            .select('key_hash')
            .where('replaced_at', '<', args.before)
            .orderBy('replaced_at')
            .limit(args.limit),
        ),
    ),

    byPlaybackId: prepare((args: Columns<'playback_id'>) => streams.where('playback_id', '=', args.playback_id)),

    ...listQueries<StreamRow, ListOrder, StreamListArgs>(db, {
      table: 'streams',
      columns: sql.join(COLUMNS.map((column) => sql.ref(column))),
      orders: ORDER_COLUMNS,
      conditions: (choice, args) => listed(choice, args, contains),
    }),

    /** Counts a user's streams up to a limit. */
    countUpTo: prepare(({ user_id, limit }: Columns<'user_id'> & { limit: number }) =>
      countUpTo(
        db,
        db.selectFrom('streams').select('id').where('user_id', '=', user_id).where('deleted_at', 'is', null),
        limit,
      ),
    ),

    change: prepare(({ id, user_id, ...row }: StreamOfScope & StreamChangeRow) => change({ id, user_id }, row)),

    /**
     * Locks the row of a stream: until the end of the write nobody else can change the stream or claim it for a node. PostgreSQL shows a
     * query what was committed before it began, even if it had to wait for a lock, so queries that depend on the owner must come after this
     * one.
     */
    hold: prepare((args: Columns<'id'>) =>
      db
        .updateTable('streams')
        .set((eb) => ({ is_active: eb.ref('is_active') }))
        .where('id', '=', args.id),
    ),

    /** Changes nothing while media is received, or while a publisher is connected to a live node. Run `hold` first. */
    changeIdle: prepare(({ id, user_id, ...row }: StreamOfScope & StreamChangeRow) =>
      change({ id, user_id }, row)
        .where('is_active', '=', sql.lit(0 as const))
        .where((eb) => eb.not(eb.exists(publishersOf(eb).where(isPublished(now))))),
    ),

    /**
     * Changes nothing when the stream was terminated after `since` and before `until`. A later time comes from a clock that was set back,
     * and is ignored.
     */
    terminate: prepare(
      ({ at, since, until, ...stream }: StreamOfScope & { at: number; since: number; until: number }) =>
        change(stream, { last_terminated_at: at as Milliseconds, terminations: sql`terminations + 1` }).where((eb) =>
          eb.or([
            eb('last_terminated_at', 'is', null),
            eb('last_terminated_at', '<=', since as Milliseconds),
            eb('last_terminated_at', '>=', until as Milliseconds),
          ]),
        ),
    ),

    delete: prepare(({ at, ...stream }: StreamOfScope & { at: number }) =>
      change(stream, { deleted_at: at as Milliseconds }),
    ),

    /**
     * The streams that were deleted before a time and are still stored as they were, the oldest first. One with a recording or clip is left
     * out, because its policy says who may watch them.
     */
    deletedBefore: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .selectFrom('streams')
        .select('id')
        .where('deleted_at', '<', args.before)
        .where(sql<boolean>`deleted_at is not null and stream_key <> ''`)
        .where(
          sql<boolean>`not exists (select 1 from assets where assets.stream_id = streams.id and assets.deleted_at is null)`,
        )
        .orderBy('deleted_at')
        .orderBy('id')
        .limit(args.limit),
    ),

    /** Deletes those of the deleted streams that were never published to. @param ids as for `getMany` */
    deleteUnused: prepare((ids: Readonly<Record<string, StreamsTable['id']>>) =>
      db
        .deleteFrom('streams')
        .where('id', 'in', Object.values(ids))
        .where(sql<boolean>`deleted_at is not null and last_seen = 0`)
        .where(sql<boolean>`not exists (select 1 from sessions where sessions.stream_id = streams.id)`)
        .where((eb) => eb.not(eb.exists(publishersOf(eb)))),
    ),

    /**
     * Empties deleted streams, so that only their ids are left. An emptied stream has lost its policy. It is therefore suspended, so that
     * nobody can watch a recording of it.
     * @param ids as for `getMany`
     */
    empty: prepare((ids: Readonly<Record<string, StreamsTable['id']>>) =>
      db
        .updateTable('streams')
        .set({
          name: sql.lit(''),
          name_search: sql.lit(''),
          stream_key: sql.lit(''),
          created_by_token_name: sql.lit(''),
          profiles: sql.lit('[]'),
          suspended: sql.lit(1 as const),
          creator_id: null,
          user_tags: null,
          playback_policy: null,
          health: null,
        })
        .where('id', 'in', Object.values(ids))
        .where('deleted_at', 'is not', null),
    ),

    /** Sets the stream of a lost node idle, unless its publisher is connected to another node by now. */
    setIdle: prepare((args: Columns<'id'> & { node_id: NodeId }) =>
      db
        .updateTable('streams')
        .set({ is_active: sql.lit(0 as const), health: null })
        .where('id', '=', args.id)
        .where((eb) => eb.not(isAlive(now, args.node_id)))
        .where((eb) => eb.not(eb.exists(publishersOf(eb).where('publishers.node_id', '<>', args.node_id)))),
    ),

    setActivity: prepare(({ id, ...activity }: Columns<'id' | 'is_active' | 'last_seen' | 'health'>) =>
      db.updateTable('streams').set(activity).where('id', '=', id),
    ),

    /** Sets the activity for a node that holds its lease, unless another node has claimed the stream since. Run `hold` first. */
    setActivityBy: prepare(
      ({ id, writer, incarnation, ...activity }: Columns<'id' | 'is_active' | 'last_seen' | 'health'> & WriterArgs) =>
        db
          .updateTable('streams')
          .set(activity)
          .where('id', '=', id)
          .where(isNotTakenFrom(sql.ref('streams.id'), writer))
          .where(holdsLease(now, { writer, incarnation })),
    ),

    /** Returns a stream that no other node has claimed since this one did. */
    ofWriter: prepare((args: Columns<'id'> & Pick<WriterArgs, 'writer'>) =>
      db
        .selectFrom('streams')
        .select('id')
        .where('id', '=', args.id)
        .where(isNotTakenFrom(sql.ref('streams.id'), args.writer)),
    ),

    /**
     * Changes nothing, but counts as a change if no other node has claimed the stream and the process holds its lease. Run `hold` first.
     */
    mustBeOf: prepare(({ id, writer, incarnation }: Columns<'id'> & WriterArgs) =>
      db
        .updateTable('streams')
        .set((eb) => ({ is_active: eb.ref('is_active') }))
        .where('id', '=', id)
        .where(isNotTakenFrom(sql.ref('streams.id'), writer))
        .where(holdsLease(now, { writer, incarnation })),
    ),

    /** Locks the row of a stream that a node is about to claim, and clears what another node last reported about it. */
    passTo: prepare(({ id, writer }: Columns<'id'> & Pick<WriterArgs, 'writer'>) =>
      db
        .updateTable('streams')
        .set({
          is_active: sql`case when ${isNotTakenFrom(sql.ref('streams.id'), writer)} then is_active else 0 end`,
          health: sql`case when ${isNotTakenFrom(sql.ref('streams.id'), writer)} then health end`,
        })
        .where('id', '=', id),
    ),
  };
}

/** The publishers of the stream that is being read or changed. */
function publishersOf(eb: ExpressionBuilder<Database, 'streams'>) {
  return eb.selectFrom('publishers').select('publishers.stream_id').whereRef('publishers.stream_id', '=', 'streams.id');
}

/** The conditions of a list. Few streams are live, so further conditions need no index then. */
function listed(
  { isActive }: ListChoice<ListOrder>,
  args: StreamListArgs,
  contains: Engine['contains'],
): readonly Condition[] {
  const conditions: Condition[] = [sql`deleted_at is null`];
  if ('id' in args) conditions.push(is('id', args.id));
  if ('playback_id' in args) conditions.push(is('playback_id', args.playback_id));
  if ('user_id' in args) conditions.push(is('user_id', args.user_id));
  if ('creator_id' in args) conditions.push((isActive ? alsoIs : is)('creator_id', args.creator_id));
  if ('name_search' in args) conditions.push(contains('name_search', args.name_search));
  if (isActive !== undefined) conditions.push(isActive ? sql`is_active = 1` : sql`is_active = 0`);
  return conditions;
}

/** Makes the row of a stream. */
export function rowOfStream(stream: Stream, shelves: KeyShelves): StreamsTable {
  return {
    id: stream.id,
    user_id: stream.userId,
    name: stream.name,
    name_search: searchableName(stream.name),
    created_at: stream.createdAt,
    stream_key: stream.streamKey.reveal(),
    stream_key_hash: shelves.put(stream.streamKey.hash()),
    playback_id: stream.playbackId,
    created_by_token_name: stream.createdByTokenName,
    profiles: JSON.stringify(stream.profiles),
    is_active: stream.isActive ? 1 : 0,
    last_seen: stream.lastSeen,
    suspended: stream.suspended ? 1 : 0,
    record: stream.record ? 1 : 0,
    creator_id: stream.creatorId ?? null,
    user_tags: textOf(stream.userTags),
    playback_policy: textOf(stream.playbackPolicy),
    last_terminated_at: stream.lastTerminatedAt ?? null,
    terminations: stream.terminations,
    health: columnOfHealth(stream.health),
    deleted_at: null,
    reported_active: 0,
  };
}

/** The columns of a change. A key with the value `undefined` empties its column. Columns of absent keys stay as they are. */
export function rowOfStreamChange(change: StreamChange, shelves: KeyShelves): StreamChangeRow {
  const { name, profiles, suspended, record, streamKey } = change;
  return {
    ...(name !== undefined && { name, name_search: searchableName(name) }),
    ...(profiles !== undefined && { profiles: JSON.stringify(profiles) }),
    ...(suspended !== undefined && { suspended: suspended ? 1 : 0 }),
    ...(record !== undefined && { record: record ? 1 : 0 }),
    ...('creatorId' in change && { creator_id: change.creatorId ?? null }),
    ...('userTags' in change && { user_tags: textOf(change.userTags) }),
    ...('playbackPolicy' in change && { playback_policy: textOf(change.playbackPolicy) }),
    ...('lastTerminatedAt' in change && { last_terminated_at: change.lastTerminatedAt ?? null }),
    ...(streamKey !== undefined && {
      stream_key: streamKey.reveal(),
      stream_key_hash: shelves.put(streamKey.hash()),
    }),
  };
}

const textOf = (value: UserTags | PlaybackPolicy | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value);

/** Makes the stream from a row. */
export function streamOfRow(row: StreamRow): Stream {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    createdAt: row.created_at,
    streamKey: new Secret(row.stream_key),
    playbackId: row.playback_id,
    createdByTokenName: row.created_by_token_name,
    profiles: JSON.parse(row.profiles) as Profile[],
    isActive: row.is_active === 1,
    lastSeen: row.last_seen,
    suspended: row.suspended === 1,
    record: row.record === 1,
    creatorId: row.creator_id ?? undefined,
    userTags: row.user_tags === null ? undefined : (JSON.parse(row.user_tags) as UserTags),
    playbackPolicy: row.playback_policy === null ? undefined : (JSON.parse(row.playback_policy) as PlaybackPolicy),
    lastTerminatedAt: row.last_terminated_at ?? undefined,
    terminations: row.terminations,
    health: healthOfColumn(row.health),
  };
}
