/**
 * Queries on usage.
 */
import { type Kysely, sql } from 'kysely';
import type { PlaybackId, StreamId, UserId } from '#domain/ids.ts';
import { type HourOfUsage, USAGE_COUNTERS, type UsageCounter, type UsageCounts, type UsageSum } from '#domain/usage.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, UsageHoursTable } from '#store/database.ts';
import { compilable, prepare, prepareEach } from '#store/prepared-query.ts';
import type { UsageQuery } from '#store/store.ts';
import { alsoIs, is } from './lists.ts';

/** The column of each counter. */
const COLUMNS = {
  ingestMs: 'ingest_ms',
  ingestBytes: 'ingest_bytes',
  transcodedMs: 'transcoded_ms',
  transcodedBytes: 'transcoded_bytes',
  deliveredBytes: 'delivered_bytes',
  views: 'views',
  watchedMs: 'watched_ms',
} as const satisfies Record<UsageCounter, keyof UsageHoursTable>;

const COUNTED = Object.values(COLUMNS);

type HourRow = Omit<UsageHoursTable, 'stream_id' | 'user_id'>;

/** A row of sums. Columns that are not grouped by are null. */
export interface UsageSumRow extends Pick<UsageHoursTable, (typeof COUNTED)[number]> {
  readonly time: Milliseconds;
  readonly stream_id: StreamId | null;
  readonly playback_id: PlaybackId | null;
  readonly user_id: UserId | null;
}

interface SumArgs {
  readonly from: Milliseconds;
  readonly to: Milliseconds;
  readonly limit: number;
  readonly user_id?: UserId;
  readonly stream_id?: StreamId;
}

/** Prepares the queries for one dialect. */
export function usageQueries(db: Kysely<Database>) {
  return {
    /** Stores an hour of a stream, also of a deleted one. Does nothing for a playback id that never existed. */
    count: prepare((row: HourRow) =>
      compilable(
        db,
        sql`insert into usage_hours (hour, stream_id, counted_by, user_id, playback_id, ${sql.join(COUNTED.map((column) => sql.ref(column)))})
          select cast(${row.hour} as bigint), id, cast(${row.counted_by} as text), user_id, playback_id,
            ${sql.join(COUNTED.map((column) => sql`cast(${row[column]} as bigint)`))}
          from streams where playback_id = ${row.playback_id}
          on conflict (stream_id, hour, counted_by) do update set
            ${sql.join(COUNTED.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`))}`,
      ),
    ),

    sum: prepareEach(({ stepMs, by }: Pick<UsageQuery, 'stepMs' | 'by'>, args: SumArgs) => {
      const time = sql`hour - hour % ${sql.lit(stepMs)}`;
      const isByStream = by === 'stream';
      const groups = [time, ...(isByStream ? [sql`stream_id`, sql`playback_id`] : []), ...(by ? [sql`user_id`] : [])];
      const shown = (column: string, isShown: boolean) => (isShown ? sql.ref(column) : sql`cast(null as text)`);
      const conditions = [
        sql`hour >= ${args.from}`,
        sql`hour < ${args.to}`,
        ...('stream_id' in args ? [is('stream_id', args.stream_id)] : []),
        // The hours of one stream are few among those of its user.
        ...('user_id' in args ? [('stream_id' in args ? alsoIs : is)('user_id', args.user_id)] : []),
      ];
      return compilable<UsageSumRow>(
        db,
        sql`select cast(${time} as bigint) as time, ${shown('stream_id', isByStream)} as stream_id,
            ${shown('playback_id', isByStream)} as playback_id, ${shown('user_id', by !== undefined)} as user_id,
            ${sql.join(COUNTED.map((column) => sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`))}
          from usage_hours where ${sql.join(conditions, sql` and `)}
          group by ${sql.join(groups)} order by ${sql.join(groups)} limit ${args.limit}`,
      );
    }),

    deleteOlder: prepare((args: { before: Milliseconds; limit: number }) =>
      db.deleteFrom('usage_hours').where(
        (eb) => eb.refTuple('stream_id', 'hour', 'counted_by'),
        'in',
        (eb) =>
          eb
            .selectFrom('usage_hours')
            .select(['stream_id', 'hour', 'counted_by'])
            .where('hour', '<', args.before)
            .orderBy('hour')
            .limit(args.limit)
            .$asTuple('stream_id', 'hour', 'counted_by'),
      ),
    ),
  };
}

/** Makes the row of an hour. */
export function rowOfHour({ hour, playbackId, countedBy, counts }: HourOfUsage): HourRow {
  const columns = Object.fromEntries(USAGE_COUNTERS.map((name) => [COLUMNS[name], counts[name]]));
  return { hour, playback_id: playbackId, counted_by: countedBy, ...columns } as HourRow;
}

/** Makes the sum from a row. */
export function sumOfRow(row: UsageSumRow): UsageSum {
  return {
    from: row.time,
    streamId: row.stream_id ?? undefined,
    playbackId: row.playback_id ?? undefined,
    userId: row.user_id ?? undefined,
    counts: Object.fromEntries(USAGE_COUNTERS.map((name) => [name, row[COLUMNS[name]]])) as UsageCounts,
  };
}
