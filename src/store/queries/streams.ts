/**
 * Queries on streams.
 */
import type { Kysely } from 'kysely';
import type { Profile } from '#domain/profile.ts';
import { Secret } from '#domain/secret.ts';
import type { Stream } from '#domain/stream.ts';
import type { Database, StreamsTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';

/** What a stream is read from: all but the hash of its key. */
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
] as const satisfies readonly (keyof StreamsTable)[];

/** A stream as it is read. */
export type StreamRow = Pick<StreamsTable, (typeof COLUMNS)[number]>;

type Columns<Key extends keyof StreamsTable> = Pick<StreamsTable, Key>;

/** The queries, prepared for one dialect. */
export function streamQueries(db: Kysely<Database>) {
  const streams = db.selectFrom('streams').select(COLUMNS);
  const newestFirst = streams.orderBy('created_at', 'desc').orderBy('id', 'desc');
  return {
    create: prepare((row: StreamsTable) => db.insertInto('streams').values(row)),

    get: prepare((args: Columns<'id' | 'user_id'>) =>
      streams.where('id', '=', args.id).where('user_id', '=', args.user_id),
    ),

    byStreamKeyHash: prepare((args: Columns<'stream_key_hash'>) =>
      streams.where('stream_key_hash', '=', args.stream_key_hash),
    ),

    byPlaybackId: prepare((args: Columns<'playback_id'>) => streams.where('playback_id', '=', args.playback_id)),

    firstPage: prepare((args: Columns<'user_id'> & { limit: number }) =>
      newestFirst.where('user_id', '=', args.user_id).limit(args.limit),
    ),

    /** The page after the row with that `created_at` and `id`. */
    nextPage: prepare((args: Columns<'user_id' | 'created_at' | 'id'> & { limit: number }) =>
      newestFirst
        .where('user_id', '=', args.user_id)
        // One comparison of pairs, because the index answers it with one range; `or` would read both halves.
        .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(args.created_at, args.id)))
        .limit(args.limit),
    ),

    setActivity: prepare(({ id, ...activity }: Columns<'id' | 'is_active' | 'last_seen'>) =>
      db.updateTable('streams').set(activity).where('id', '=', id),
    ),
  };
}

/** The row of a stream. */
export function rowOfStream(stream: Stream): StreamsTable {
  return {
    id: stream.id,
    user_id: stream.userId,
    name: stream.name,
    created_at: stream.createdAt,
    stream_key: stream.streamKey.reveal(),
    stream_key_hash: stream.streamKey.hash(),
    playback_id: stream.playbackId,
    created_by_token_name: stream.createdByTokenName,
    profiles: JSON.stringify(stream.profiles),
    is_active: stream.isActive ? 1 : 0,
    last_seen: stream.lastSeen,
    suspended: stream.suspended ? 1 : 0,
  };
}

/** The stream of a row. */
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
  };
}
