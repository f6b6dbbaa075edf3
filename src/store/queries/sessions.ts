/**
 * Queries on sessions.
 */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { SessionId, UserId } from '#domain/ids.ts';
import type { ServiceNode } from '#domain/node.ts';
import type { Profile } from '#domain/profile.ts';
import { searchableName } from '#domain/searchable-name.ts';
import type { Session, SessionTotals } from '#domain/session.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, SessionsTable, StreamsTable } from '#store/database.ts';
import type { Engine, Query } from '#store/engine.ts';
import type { PageKey } from '#store/page.ts';
import { prepare } from '#store/prepared-query.ts';
import type { ListOrder, SessionChange } from '#store/store.ts';
import { columnOfHealth, healthOfColumn } from './health-column.ts';
import {
  alsoIs,
  alsoIsFlag,
  type Condition,
  is,
  ORDER_COLUMNS,
  ofUser,
  type RangeArgs,
  rangeConditions,
} from './lists.ts';
import { holdsLease, isAlive, type WriterArgs } from './nodes.ts';
import { isNotTakenFrom } from './publishers.ts';
import { type ListChoice, listQueries } from './searchable-list.ts';

/** The columns of the totals. */
const TOTALS = {
  sourceBytes: 'source_bytes',
  sourceSegments: 'source_segments',
  sourceSegmentsDuration: 'source_segments_duration',
  transcodedBytes: 'transcoded_bytes',
  transcodedSegments: 'transcoded_segments',
  transcodedSegmentsDuration: 'transcoded_segments_duration',
  peakViewers: 'peak_viewers',
} as const satisfies Record<keyof SessionTotals, keyof SessionsTable>;

/** The columns of all other fields that may change on a session. */
const CHANGING = {
  name: 'name',
  phase: 'phase',
  lastSeen: 'last_seen',
  reconnectUntil: 'reconnect_until',
  endedAt: 'ended_at',
  endReason: 'end_reason',
  restarts: 'restarts',
  codecs: 'codecs',
  nodeId: 'node_id',
  viewers: 'viewers',
} as const satisfies Record<Exclude<keyof SessionChange, 'totals' | 'health'>, keyof SessionsTable>;

const CHANGING_COLUMNS = [...Object.values(CHANGING), ...Object.values(TOTALS), 'health', 'name_search'] as const;

type Columns<Key extends keyof SessionsTable> = Pick<SessionsTable, Key>;

/** The columns that a change sets. */
export type SessionChangeRow = Partial<Columns<(typeof CHANGING_COLUMNS)[number]>>;

/** The filter and range of a list of sessions. Absent fields do not filter. */
export type SessionListArgs = Partial<
  Columns<'user_id' | 'id' | 'stream_id' | 'playback_id' | 'record' | 'name_search'>
> &
  RangeArgs;

/** The bounds of a window of old sessions. */
export type OldSessionArgs = Pick<RangeArgs, 'after_at' | 'after_id'> &
  Required<Pick<RangeArgs, 'until_at' | 'until_id'>>;

/** The queries on a window of old sessions. */
export interface OldSessionQueries<Args> {
  /** The session that comes `skip` places after the first one. */
  readonly nth: (args: Args & { readonly skip: number }) => Query<PageKey>;
  /** A session that has no recording. */
  readonly any: (args: Args) => Query<{ readonly id: SessionId }>;
  /** Deletes sessions that have no recording, or samples of them; see `deleting`. */
  readonly delete: DeleteSessions<Args & { readonly limit: number }>;
}

/** Queries that delete chosen sessions. */
export interface DeleteSessions<Args> {
  /** Deletes samples of the sessions, at most `samples` at once. */
  readonly samples: (args: Args & { readonly samples: number }) => Query;
  /** Deletes those of the sessions that have no samples left. */
  readonly sessions: (args: Args) => Query;
}

/** Prepares the queries for one engine. */
export function sessionQueries({ compiler: db, now, contains }: Pick<Engine, 'compiler' | 'now' | 'contains'>) {
  const oldestFirst = db.selectFrom('sessions').selectAll().orderBy('created_at').orderBy('id');
  const withNode = db
    .selectFrom('sessions')
    .leftJoin('nodes', 'nodes.id', 'sessions.node_id')
    .selectAll('sessions')
    .select('nodes.url as node_url');
  const open = sql<boolean>`phase <> 'ended'`;
  const isOrWasLost = sql<boolean>`(phase <> 'ended' or end_reason = 'node_lost')`;

  /**
   * Makes two queries: one deletes samples of chosen sessions, at most `samples` at once, and the other deletes those chosen sessions that
   * have no samples left. The second one must check this, because another process may have deleted sessions in between, so that the second
   * query chooses others than the first.
   */
  function deleting<Args extends object>(
    choose: (args: Args) => SelectQueryBuilder<Database, 'sessions', { id: SessionId }>,
  ): DeleteSessions<Args> {
    return {
      samples: prepare(({ samples, ...args }: Args & { samples: number }) =>
        db.deleteFrom('session_samples').where(
          (eb) => eb.refTuple('session_id', 'at'),
          'in',
          (eb) =>
            eb
              .selectFrom('session_samples')
              .select(['session_id', 'at'])
              .where('session_id', 'in', choose(args as unknown as Args))
              .limit(samples)
              .$asTuple('session_id', 'at'),
        ),
      ),
      sessions: prepare((args: Args) =>
        db
          .deleteFrom('sessions')
          .where('id', 'in', choose(args))
          .where(sql<boolean>`not exists (select 1 from session_samples where session_id = sessions.id)`),
      ),
    };
  }

  /** Makes the queries on a window of ended sessions that are ordered by a time. @param matches a condition for them */
  function old<Args extends OldSessionArgs>(
    order: 'ended_at' | 'created_at',
    matches: (args: Args) => Condition,
  ): OldSessionQueries<Args> {
    const window = (args: Args) =>
      rangeConditions(order, 'asc', args).reduce(
        (query, condition) => query.where(condition),
        db.selectFrom('sessions').where(matches(args)).orderBy(order).orderBy('id'),
      );
    const deletable = (args: Args) => window(args).select('id').where(hasNoRecording);
    return {
      nth: prepare(({ skip, ...args }: Args & { skip: number }) =>
        window(args as unknown as Args)
          .select([sql<Milliseconds>`${sql.ref(order)}`.as('at'), 'id'])
          .limit(sql.lit(1))
          .offset(skip),
      ),
      any: prepare((args: Args) => deletable(args).limit(sql.lit(1))),
      delete: deleting(({ limit, ...args }: Args & { limit: number }) =>
        deletable(args as unknown as Args).limit(limit),
      ),
    };
  }

  return {
    /**
     * Creates a session. When it exists, its changeable fields are set again, so that a write with an unknown outcome can be repeated. A
     * session that was ended because its node was taken for dead stays ended.
     */
    create: prepare((row: SessionsTable) =>
      db
        .insertInto('sessions')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet((eb) =>
              Object.fromEntries(CHANGING_COLUMNS.map((column) => [column, eb.ref(`excluded.${column}`)])),
            )
            .where('sessions.node_id', '=', (eb) => eb.ref('excluded.node_id'))
            .where(isNotLost),
        ),
    ),

    /** Without `user_id`, finds the session of any user. */
    get: prepare((args: Columns<'id'> & Partial<Columns<'user_id'>>) =>
      db.selectFrom('sessions').selectAll().where('id', '=', args.id).where(ofUser(args)),
    ),

    change: prepare(({ id, ...change }: Columns<'id'> & SessionChangeRow) =>
      db.updateTable('sessions').set(change).where('id', '=', id),
    ),

    /** Changes a session for its node, if that holds its lease and no other node has ended the session as lost. */
    changeBy: prepare(({ id, writer, incarnation, ...change }: Columns<'id'> & WriterArgs & SessionChangeRow) =>
      db
        .updateTable('sessions')
        .set(change)
        .where('id', '=', id)
        .where('node_id', '=', writer)
        .where(isNotLost)
        .where(holdsLease(now, { writer, incarnation })),
    ),

    /** Returns a session that `changeBy` could change, whether or not its node holds the lease at the moment. */
    ofWriter: prepare((args: Columns<'id'> & Pick<WriterArgs, 'writer'>) =>
      db
        .selectFrom('sessions')
        .select('id')
        .where('id', '=', args.id)
        .where('node_id', '=', args.writer)
        .where(isNotLost),
    ),

    /** Like `changeBy`, but also for a session that was ended as lost, unless another node claimed the stream. Run `hold` first. */
    resume: prepare(({ id, writer, incarnation, ...change }: Columns<'id'> & WriterArgs & SessionChangeRow) =>
      db
        .updateTable('sessions')
        .set(change)
        .where('id', '=', id)
        .where('node_id', '=', writer)
        .where(isOrWasLost)
        .where(isNotTakenFrom(sql.ref('sessions.stream_id'), writer))
        .where(holdsLease(now, { writer, incarnation })),
    ),

    /** Returns a session that `resume` could change, whether or not its node holds the lease at the moment. */
    resumable: prepare((args: Columns<'id'> & Pick<WriterArgs, 'writer'>) =>
      db
        .selectFrom('sessions')
        .select('id')
        .where('id', '=', args.id)
        .where('node_id', '=', args.writer)
        .where(isOrWasLost)
        .where(isNotTakenFrom(sql.ref('sessions.stream_id'), args.writer)),
    ),

    ...listQueries<SessionsTable, ListOrder, SessionListArgs>(db, {
      table: 'sessions',
      orders: ORDER_COLUMNS,
      conditions: (choice, args) => listed(choice, args, contains),
    }),

    /** The open sessions of all nodes. */
    open: prepare(() => oldestFirst.where(open)),

    /** The open sessions of a node. */
    openOfNode: prepare((args: Columns<'node_id'>) => oldestFirst.where('node_id', '=', args.node_id).where(open)),

    openOfStream: prepare((args: Columns<'stream_id'>) =>
      oldestFirst.where('stream_id', '=', args.stream_id).where(open),
    ),

    newest: prepare((args: Pick<StreamsTable, 'playback_id'>) => {
      const newest = db
        .selectFrom('sessions')
        .select('id')
        .where(ofPlaybackId(args.playback_id))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(sql.lit(1));
      // Two lookups in indexes. Sorting by the phase would read every session of the stream.
      return withNode.where('sessions.id', '=', (eb) => eb.fn.coalesce(newest.where(open), newest));
    }),

    byMediaPath: prepare((args: Columns<'media_path'>) => withNode.where('media_path', '=', args.media_path)),

    /** Ends a session whose node is lost. */
    endLost: prepare(({ id, ...end }: Columns<'id'> & SessionChangeRow) =>
      db
        .updateTable('sessions')
        .set(end)
        .where('id', '=', id)
        .where(open)
        .where((eb) => eb.not(isAlive(now, sql.ref('sessions.node_id')))),
    ),

    /** Ended sessions in the order of their ends. */
    ended: old<OldSessionArgs>('ended_at', () => sql<boolean>`phase = 'ended'`),

    /** Ended sessions of a user in the order of their beginnings. */
    endedOfUser: old(
      'created_at',
      (args: OldSessionArgs & Columns<'user_id'>) =>
        sql<boolean>`user_id = ${args.user_id} and ${alsoIs('phase', 'ended')}`,
    ),

    /**
     * The users with sessions that ended since a time, each once. The concatenation hides the column from the query planner, which would
     * otherwise read a whole index of users instead of the few sessions that ended recently.
     */
    usersWithEnded: prepare((args: { since: Milliseconds }) =>
      db
        .selectFrom('sessions')
        .select(sql<UserId>`user_id || ''`.as('user_id'))
        .distinct()
        .where(sql<boolean>`phase = 'ended'`)
        .where('ended_at', '>=', args.since),
    ),

    /** The newest session of a user that is older than its `keep` newest ones. It takes `keep` steps in an index, and reads no row. */
    newestNotKept: prepare((args: Columns<'user_id'> & { keep: number }) =>
      db
        .selectFrom('sessions')
        .select(['created_at', 'id'])
        .where('user_id', '=', args.user_id)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(sql.lit(1))
        .offset(args.keep),
    ),
  };
}

/** Whether a session was not ended as lost by another node. */
const isNotLost = sql<boolean>`coalesce(sessions.end_reason, '') <> 'node_lost'`;

/** Whether a session has no recording, or its recording was deleted. */
const hasNoRecording = sql<boolean>`not exists (select 1 from assets where assets.id = sessions.id and deleted_at is null)`;

/** The condition that sessions belong to the stream with a playback id. A playback id belongs to one stream, also after its deletion. */
const ofPlaybackId = (id: StreamsTable['playback_id'] | undefined): Condition =>
  sql`${sql.ref('stream_id')} = (select id from streams where playback_id = ${id})`;

/** The conditions of a list. A stream has few sessions and few are live, so further conditions need no index then. */
function listed(
  { isActive }: ListChoice<ListOrder>,
  args: SessionListArgs,
  contains: Engine['contains'],
): readonly Condition[] {
  const ofStream = 'stream_id' in args || 'playback_id' in args;
  const conditions: Condition[] = [];
  if ('id' in args) conditions.push(is('id', args.id));
  if ('stream_id' in args) conditions.push(is('stream_id', args.stream_id));
  if ('playback_id' in args) conditions.push(ofPlaybackId(args.playback_id));
  if ('user_id' in args) conditions.push((ofStream ? alsoIs : is)('user_id', args.user_id));
  if ('record' in args) conditions.push((ofStream || isActive ? alsoIsFlag : is)('record', args.record));
  if ('name_search' in args) conditions.push(contains('name_search', args.name_search));
  if (isActive !== undefined) conditions.push(isActive ? sql`phase = 'live'` : sql`phase <> 'live'`);
  return conditions;
}

/**
 * The columns of a change. A key with the value `undefined` empties its column. Columns of absent keys, and of keys that cannot change,
 * stay as they are.
 */
export function rowOfSessionChange(change: SessionChange): SessionChangeRow {
  const columns = Object.entries(change)
    .filter(([key]) => key in CHANGING)
    .map(([key, value]) => [CHANGING[key as keyof typeof CHANGING], value ?? null]);
  return {
    ...Object.fromEntries(columns),
    ...(change.totals && rowOfTotals(change.totals)),
    ...('health' in change && { health: columnOfHealth(change.health) }),
    ...(change.name !== undefined && { name_search: searchableName(change.name) }),
  } as SessionChangeRow;
}

function rowOfTotals(totals: SessionTotals): Columns<(typeof TOTALS)[keyof SessionTotals]> {
  return {
    source_bytes: totals.sourceBytes,
    source_segments: totals.sourceSegments,
    source_segments_duration: totals.sourceSegmentsDuration,
    transcoded_bytes: totals.transcodedBytes,
    transcoded_segments: totals.transcodedSegments,
    transcoded_segments_duration: totals.transcodedSegmentsDuration,
    peak_viewers: totals.peakViewers,
  };
}

/** Makes the row of a session. */
export function rowOfSession(session: Session): SessionsTable {
  return {
    id: session.id,
    stream_id: session.streamId,
    user_id: session.userId,
    playback_id: session.playbackId,
    name: session.name,
    name_search: searchableName(session.name),
    created_by_token_name: session.createdByTokenName,
    profiles: JSON.stringify(session.profiles),
    phase: session.phase,
    created_at: session.createdAt,
    last_seen: session.lastSeen,
    reconnect_until: session.reconnectUntil ?? null,
    ended_at: session.endedAt ?? null,
    end_reason: session.endReason ?? null,
    media_path: session.mediaPath,
    restarts: session.restarts,
    codecs: session.codecs,
    node_id: session.nodeId,
    record: session.record ? 1 : 0,
    recording_path: session.recordingPath ?? null,
    terminations: session.terminations,
    ...rowOfTotals(session.totals),
    viewers: session.viewers,
    health: columnOfHealth(session.health),
    reported: '',
  };
}

/** Makes the session from a row. */
export function sessionOfRow(row: SessionsTable): Session {
  return {
    id: row.id,
    streamId: row.stream_id,
    userId: row.user_id,
    playbackId: row.playback_id,
    name: row.name,
    createdByTokenName: row.created_by_token_name,
    profiles: JSON.parse(row.profiles) as Profile[],
    phase: row.phase,
    createdAt: row.created_at,
    lastSeen: row.last_seen,
    reconnectUntil: row.reconnect_until ?? undefined,
    endedAt: row.ended_at ?? undefined,
    endReason: row.end_reason ?? undefined,
    mediaPath: row.media_path,
    restarts: row.restarts,
    nodeId: row.node_id as Session['nodeId'],
    record: row.record === 1,
    recordingPath: row.recording_path ?? undefined,
    terminations: row.terminations,
    totals: {
      sourceBytes: row.source_bytes,
      sourceSegments: row.source_segments,
      sourceSegmentsDuration: row.source_segments_duration,
      transcodedBytes: row.transcoded_bytes,
      transcodedSegments: row.transcoded_segments,
      transcodedSegmentsDuration: row.transcoded_segments_duration,
      peakViewers: row.peak_viewers,
    },
    viewers: row.viewers,
    health: healthOfColumn(row.health),
    codecs: row.codecs,
  };
}

/** Makes a session with its node from a row. */
export function locatedSessionOfRow(row: SessionsTable & { node_url: ServiceNode['url'] | null }) {
  const session = sessionOfRow(row);
  const node: ServiceNode | undefined = row.node_url === null ? undefined : { id: session.nodeId, url: row.node_url };
  return { session, node };
}
