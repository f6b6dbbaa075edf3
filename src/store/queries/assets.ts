/**
 * Queries on assets. Unless their names say otherwise, they find no deleted ones.
 */
import { sql } from 'kysely';
import type { Asset, AssetExtent, AssetTrack } from '#domain/asset.ts';
import type { EventId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { PlaybackPolicy } from '#domain/playback-policy.ts';
import { searchableName } from '#domain/searchable-name.ts';
import type { Milliseconds } from '#lib/units.ts';
import { type AssetChange, type AssetOrder, RECORDINGS_KEPT_MS } from '#store/asset-store.ts';
import type { AssetsTable } from '#store/database.ts';
import type { Engine } from '#store/engine.ts';
import { prepare, prepareEach } from '#store/prepared-query.ts';
import { ASSET_PAYLOAD, type AssetEventType, RECORDING_PAYLOAD, REPORTS } from './asset-events.ts';
import { countUpTo } from './count-up-to.ts';
import { alsoIs, type Condition, is, ofUser, type RangeArgs } from './lists.ts';
import { listQueries } from './searchable-list.ts';

type Columns<Key extends keyof AssetsTable> = Pick<AssetsTable, Key>;

/** The id of an asset, limited to a user unless `user_id` is absent. */
export type AssetOfScope = Columns<'id'> & Partial<Columns<'user_id'>>;

/** The columns that a user can change. */
export type AssetChangeRow = Partial<Columns<'name' | 'name_search' | 'creator_id' | 'playback_policy'>>;

/** The columns of what is recorded. */
export type AssetExtentRow = Columns<'from_ms' | 'until_ms' | 'duration_s' | 'size_bytes' | 'tracks'>;

/** The filter and range of a list. Absent fields do not filter. */
export type AssetListArgs = Partial<
  Columns<
    | 'user_id'
    | 'id'
    | 'playback_id'
    | 'session_id'
    | 'stream_id'
    | 'clipped_from'
    | 'creator_id'
    | 'phase'
    | 'kind'
    | 'name_search'
  >
> &
  RangeArgs;

/** Prepares the queries for one engine. */
export function assetQueries({ compiler: db, now, contains }: Pick<Engine, 'compiler' | 'now' | 'contains'>) {
  const notDeleted = sql<boolean>`deleted_at is null`;
  const assets = db.selectFrom('assets').selectAll().where(notDeleted);
  const unsettled = sql<boolean>`phase || '' in ('recording', 'storing')`;

  /** Sums recordings, and the clips that keep media of a deleted recording. All other clips take no space of their own. */
  const sumOfRecordings = (column: 'size_bytes' | 'duration_s') =>
    prepare((args: Columns<'user_id'>) =>
      db
        .selectFrom('assets')
        .select(sql<number>`coalesce(sum(${sql.ref(column)}), 0)`.as('count'))
        .where('user_id', '=', args.user_id)
        .where(notDeleted)
        .where(
          sql<boolean>`(kind = 'recording' or not exists (
            select 1 from assets as cut where cut.id = assets.session_id and cut.deleted_at is null))`,
        ),
    );

  const ofScope = (args: AssetOfScope) =>
    db.updateTable('assets').where('id', '=', args.id).where(notDeleted).where(ofUser(args));

  return {
    /**
     * Creates the asset of a session that is recorded, unless it exists. The stream may have been deleted just before the first part came.
     * The time at which the recording is to be deleted is then set here. The same write must have locked the row of the stream before.
     */
    createRecording: prepare((args: Columns<'session_id' | 'playback_id'>) => ({
      compile: () =>
        sql`insert into assets (id, kind, user_id, stream_id, session_id, playback_id, path, media_path, name, name_search,
            creator_id, created_at, updated_at, phase, node_id, delete_at)
          select id, 'recording', user_id, stream_id, id, cast(${args.playback_id} as text), recording_path, recording_path,
            name, name_search, (select creator_id from streams where streams.id = sessions.stream_id), created_at,
            created_at, 'recording', node_id,
            (select deleted_at + ${sql.lit(RECORDINGS_KEPT_MS)} from streams where streams.id = sessions.stream_id)
          from sessions where id = ${args.session_id} and recording_path is not null
          on conflict (id) do nothing`.compile(db),
    })),

    /** Makes the recording of an ended session `storing`. */
    sessionEnded: prepare((args: Columns<'session_id'>) =>
      db
        .updateTable('assets')
        .from('sessions')
        .set({
          phase: sql`case when assets.phase = 'recording' then 'storing' else assets.phase end`,
          ended_at: sql`coalesce(sessions.ended_at, sessions.last_seen)`,
          updated_at: sql`coalesce(sessions.ended_at, sessions.last_seen)`,
        })
        .whereRef('assets.id', '=', 'sessions.id')
        .where('sessions.id', '=', args.session_id)
        .where(sql<boolean>`sessions.phase = 'ended' and assets.ended_at is null`),
    ),

    /**
     * Resumes the recording of a session that had ended because its node was taken for lost. One that is completely in
     * the object store ended before its session, and is not resumed.
     */
    sessionResumed: prepare((args: Columns<'session_id'>) =>
      db
        .updateTable('assets')
        .from('sessions')
        .set({ phase: 'recording', ended_at: null, failure: null, reported: 'recording' })
        .whereRef('assets.id', '=', 'sessions.id')
        .where('sessions.id', '=', args.session_id)
        .where(
          sql<boolean>`sessions.phase <> 'ended' and assets.ended_at is not null and deleted_at is null and is_stored = 0`,
        ),
    ),

    /** Creates a clip, unless the asset that it is cut from is deleted or failed. */
    createClip: prepare(({ of, ...row }: AssetsTable & { of: AssetsTable['id'] }) => ({
      compile: () => {
        const columns = Object.keys(row) as (keyof AssetsTable)[];
        const values = columns.map((column) => sql`cast(${row[column]} as ${sql.raw(TYPES[column] ?? 'text')})`);
        return sql`insert into assets (${sql.join(columns.map((column) => sql.ref(column)))})
          select ${sql.join(values)} from assets as whole
          where whole.id = ${of} and whole.deleted_at is null and whole.phase <> 'failed'`.compile(db);
      },
    })),

    get: prepare((args: AssetOfScope) => assets.where('id', '=', args.id).where(ofUser(args))),

    /** Assets by their ids. @param ids the ids under any keys; always the same number, so that the query is compiled once */
    getMany: prepare((ids: Readonly<Record<string, AssetsTable['id']>>) =>
      assets.where('id', 'in', Object.values(ids)),
    ),

    /** Like `getMany`, but includes deleted assets. */
    getAny: prepare((ids: Readonly<Record<string, AssetsTable['id']>>) =>
      db.selectFrom('assets').selectAll().where('id', 'in', Object.values(ids)),
    ),

    byPlaybackId: prepare((args: Columns<'playback_id'>) => assets.where('playback_id', '=', args.playback_id)),

    byPath: prepare((args: Columns<'path'>) =>
      db
        .selectFrom('assets')
        .leftJoin('nodes', 'nodes.id', 'assets.node_id')
        .selectAll('assets')
        .select('nodes.url as node_url')
        .where(notDeleted)
        .where('path', '=', args.path),
    ),

    ...listQueries<AssetsTable, AssetOrder, AssetListArgs>(db, {
      table: 'assets',
      orders: { createdAt: 'created_at', updatedAt: 'updated_at' },
      conditions: (_choice, args) => listed(args, contains),
    }),

    /** Counts a user's clips up to a limit. */
    countUpTo: prepare(({ user_id, limit }: Columns<'user_id'> & { limit: number }) =>
      countUpTo(
        db,
        db
          .selectFrom('assets')
          .select('id')
          .where('user_id', '=', user_id)
          .where('kind', '=', sql.lit('clip' as const))
          .where(notDeleted),
        limit,
      ),
    ),

    bytesOf: sumOfRecordings('size_bytes'),
    secondsOf: sumOfRecordings('duration_s'),

    change: prepare(({ id, user_id, at, ...row }: AssetOfScope & AssetChangeRow & { at: Milliseconds }) =>
      ofScope({ id, ...(user_id !== undefined && { user_id }) }).set({ ...row, updated_at: at }),
    ),

    /** Deletes a recording that does not run. Its bytes stay until the server deletes them; see `AssetStore.deleting`. */
    deleteRecording: prepare(({ at, ...asset }: AssetOfScope & { at: Milliseconds }) =>
      ofScope(asset)
        .set({ phase: 'deleting', deleted_at: at, updated_at: at })
        .where(sql<boolean>`kind = 'recording' and phase <> 'recording'`),
    ),

    deleteClip: prepare(({ at, ...asset }: AssetOfScope & { at: Milliseconds }) =>
      ofScope(asset).set({ phase: 'deleted', deleted_at: at, updated_at: at }).where(sql<boolean>`kind = 'clip'`),
    ),

    /** Sets the time at which the recordings of a deleted stream are to be deleted. */
    deleteLater: prepare((args: Columns<'stream_id'> & { at: Milliseconds }) =>
      db
        .updateTable('assets')
        .set({ delete_at: args.at })
        .where('stream_id', '=', args.stream_id)
        .where(notDeleted)
        .where(alsoIs('kind', 'recording')),
    ),

    progress: prepare(({ id, ...extent }: Columns<'id'> & AssetExtentRow) =>
      db.updateTable('assets').set(extent).where('id', '=', id).where(notDeleted).where(unsettled),
    ),

    settle: prepare(({ id, ...row }: Columns<'id' | 'phase' | 'failure' | 'updated_at'> & Partial<AssetExtentRow>) =>
      db
        .updateTable('assets')
        .set({ ...row, ended_at: sql`coalesce(ended_at, ${row.updated_at})` })
        .where('id', '=', id)
        .where(notDeleted)
        .where(unsettled),
    ),

    stored: prepare((args: Columns<'id'>) =>
      db
        .updateTable('assets')
        .set({ is_stored: sql.lit(1 as const) })
        .where('id', '=', args.id)
        .where(notDeleted)
        .where(sql<boolean>`phase || '' not in ('recording', 'storing')`),
    ),

    /** The unsettled recordings of a node, or of all nodes without `node_id`. */
    unsettled: prepare((args: Partial<Columns<'node_id'>>) => {
      const open = assets.where(unsettled).orderBy('created_at').orderBy('id');
      return args.node_id === undefined ? open : open.where(alsoIs('node_id', args.node_id));
    }),

    clipsOf: prepare((args: Columns<'session_id'>) =>
      assets
        .where('session_id', '=', args.session_id)
        .where(alsoIs('kind', 'clip'))
        .orderBy('created_at')
        .orderBy('id'),
    ),

    due: prepare((args: { now: Milliseconds; limit: number }) =>
      assets
        .where('delete_at', '<=', args.now)
        .where(sql<boolean>`delete_at is not null and phase <> 'recording'`)
        .orderBy('delete_at')
        .orderBy('id')
        .limit(args.limit),
    ),

    /**
     * Recordings whose session has ended, the oldest end first. With `node_id`, only those of this node that are not in the object store.
     */
    ended: prepare((args: Partial<Columns<'node_id'>> & { before?: Milliseconds; limit: number }) => {
      const ended = assets
        .where(sql<boolean>`ended_at is not null and phase <> 'recording'`)
        .orderBy('ended_at')
        .orderBy('id')
        .limit(args.limit);
      const before = args.before === undefined ? ended : ended.where('ended_at', '<', args.before);
      return args.node_id === undefined
        ? before
        : before.where(alsoIs('node_id', args.node_id)).where(sql<boolean>`is_stored = 0`);
    }),

    deleting: prepare((args: { before: Milliseconds; after: string; limit: number }) =>
      db
        .selectFrom('assets')
        .selectAll()
        .where(sql<boolean>`phase = 'deleting'`)
        .where(sql<boolean>`id > ${args.after}`)
        .where('deleted_at', '<', args.before)
        .orderBy('id')
        .limit(args.limit),
    ),

    deleted: prepare((args: Columns<'id'>) =>
      db
        .updateTable('assets')
        .set({ phase: sql.lit('deleted' as const) })
        .where('id', '=', args.id)
        .where(sql<boolean>`phase = 'deleting'`),
    ),

    forget: prepare((args: { before: Milliseconds; limit: number }) =>
      db
        .deleteFrom('assets')
        .where('id', 'in', (eb) =>
          eb
            .selectFrom('assets')
            .select('id')
            .where(sql<boolean>`phase = 'deleted'`)
            .where('deleted_at', '<', args.before)
            .orderBy('deleted_at')
            .orderBy('id')
            .limit(args.limit),
        ),
    ),

    /** Adds an event about an asset if it is due. */
    report: prepareEach(
      (
        { type }: { type: AssetEventType },
        args: { id: EventId; asset_id: AssetsTable['id']; at: Milliseconds | null },
      ) => ({
        compile: () =>
          sql`insert into events (id, type, at, user_id, stream_id, session_id, payload)
            select cast(${args.id} as text), ${sql.lit(type)}, coalesce(cast(${args.at} as bigint), ${now}), user_id, stream_id,
              session_id, ${type.startsWith('recording') ? RECORDING_PAYLOAD : ASSET_PAYLOAD}
            from assets where assets.id = ${args.asset_id} and ${REPORTS[type]}`.compile(db),
      }),
    ),

    /** Marks the phase as reported. Run it after `report`. */
    reported: prepare((args: { asset_id: AssetsTable['id'] }) =>
      db
        .updateTable('assets')
        .set((eb) => ({ reported: eb.ref('phase') }))
        .where('id', '=', args.asset_id)
        .whereRef('reported', '<>', 'phase'),
    ),
  };
}

/** The SQL types of columns that are not text. */
const TYPES: Partial<Record<keyof AssetsTable, string>> = {
  created_at: 'bigint',
  updated_at: 'bigint',
  ended_at: 'bigint',
  from_ms: 'bigint',
  until_ms: 'bigint',
  duration_s: 'double precision',
  size_bytes: 'bigint',
  is_stored: 'integer',
  delete_at: 'bigint',
  deleted_at: 'bigint',
};

/** The conditions of a list. Of the conditions that match few assets, the first uses an index, and all others are only checked. */
function listed(args: AssetListArgs, contains: Engine['contains']): readonly Condition[] {
  const conditions: Condition[] = [sql`deleted_at is null`];
  let isFound = false;
  for (const column of ['id', 'playback_id', 'session_id', 'clipped_from', 'stream_id'] as const) {
    if (!(column in args)) continue;
    conditions.push((isFound ? alsoIs : is)(column, args[column]));
    isFound = true;
  }
  // These have indexes for one user and for everybody.
  if ('user_id' in args) conditions.push((isFound ? alsoIs : is)('user_id', args.user_id));
  for (const column of ['creator_id', 'phase', 'kind'] as const) {
    if (!(column in args)) continue;
    conditions.push((isFound ? alsoIs : is)(column, args[column]));
    isFound = true;
  }
  if ('name_search' in args) conditions.push(contains('name_search', args.name_search));
  return conditions;
}

/** The columns of what is recorded. */
export function rowOfExtent({ durationS, sizeBytes, fromMs, untilMs, tracks }: AssetExtent): AssetExtentRow {
  const whole = (time: Milliseconds | undefined) => (time === undefined ? null : (Math.round(time) as Milliseconds));
  return {
    from_ms: whole(fromMs),
    until_ms: whole(untilMs),
    duration_s: durationS,
    size_bytes: sizeBytes,
    tracks: JSON.stringify(tracks),
  };
}

/** Makes the row of an asset. */
export function rowOfAsset(asset: Asset): AssetsTable {
  return {
    id: asset.id,
    kind: asset.kind,
    user_id: asset.userId,
    stream_id: asset.streamId,
    session_id: asset.sessionId,
    playback_id: asset.playbackId,
    path: asset.path,
    media_path: asset.mediaPath,
    clipped_from: asset.clippedFrom ?? null,
    name: asset.name,
    name_search: searchableName(asset.name),
    creator_id: asset.creatorId ?? null,
    created_at: asset.createdAt,
    updated_at: asset.updatedAt,
    ended_at: null,
    phase: asset.phase,
    failure: asset.failure ?? null,
    ...rowOfExtent(asset),
    node_id: asset.nodeId,
    is_stored: asset.isStored ? 1 : 0,
    playback_policy: textOf(asset.playbackPolicy),
    delete_at: null,
    deleted_at: null,
    reported: '',
  };
}

/** The columns of a change. A key with the value `undefined` empties its column. Columns of absent keys stay as they are. */
export function rowOfAssetChange(change: AssetChange): AssetChangeRow {
  const { name } = change;
  return {
    ...(name !== undefined && { name, name_search: searchableName(name) }),
    ...('creatorId' in change && { creator_id: change.creatorId ?? null }),
    ...('playbackPolicy' in change && { playback_policy: textOf(change.playbackPolicy) }),
  };
}

const textOf = (policy: PlaybackPolicy | undefined): string | null =>
  policy === undefined ? null : JSON.stringify(policy);

/** Makes the asset from a row. */
export function assetOfRow(row: AssetsTable): Asset {
  return {
    id: row.id,
    kind: row.kind,
    userId: row.user_id,
    streamId: row.stream_id,
    sessionId: row.session_id,
    playbackId: row.playback_id,
    path: row.path,
    mediaPath: row.media_path,
    clippedFrom: row.clipped_from ?? undefined,
    fromMs: row.from_ms ?? undefined,
    untilMs: row.until_ms ?? undefined,
    name: row.name,
    creatorId: row.creator_id ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    phase: row.phase,
    failure: row.failure ?? undefined,
    durationS: row.duration_s,
    sizeBytes: row.size_bytes,
    tracks: JSON.parse(row.tracks) as AssetTrack[],
    nodeId: row.node_id,
    isStored: row.is_stored === 1,
    playbackPolicy: row.playback_policy === null ? undefined : (JSON.parse(row.playback_policy) as PlaybackPolicy),
  };
}

/** Makes an asset with its node from a row. */
export function locatedAssetOfRow(row: AssetsTable & { node_url: ServiceNode['url'] | null }) {
  const asset = assetOfRow(row);
  const node: ServiceNode | undefined = row.node_url === null ? undefined : { id: asset.nodeId, url: row.node_url };
  return { asset, node };
}
