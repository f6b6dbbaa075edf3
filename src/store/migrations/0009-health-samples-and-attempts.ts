/**
 * Adds the keys that streams had before, the samples of sessions, and the counters of usage.
 *
 * Samples and counters are written with absolute values under keys that say what they count, so that a repeated write counts nothing twice.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table former_stream_keys (
    key_hash text primary key not null,
    stream_id text not null,
    replaced_at bigint not null
  )`.execute(db);
  await sql`create index former_stream_keys_by_age on former_stream_keys (replaced_at)`.execute(db);

  await sql`create table session_samples (
    session_id text not null,
    at bigint not null,
    measured text not null,
    primary key (session_id, at)
  )`.execute(db);

  await sql`create table usage_hours (
    hour bigint not null,
    stream_id text not null,
    counted_by text not null,
    user_id text not null,
    playback_id text not null,
    ingest_ms bigint not null,
    ingest_bytes bigint not null,
    transcoded_ms bigint not null,
    transcoded_bytes bigint not null,
    delivered_bytes bigint not null,
    views bigint not null,
    watched_ms bigint not null,
    primary key (stream_id, hour, counted_by)
  )`.execute(db);
  await sql`create index usage_hours_of_user on usage_hours (user_id, hour)`.execute(db);
  await sql`create index usage_hours_by_age on usage_hours (hour)`.execute(db);
}

/** Adds former stream keys, samples of sessions, and counters of usage. */
export const healthSamplesAndAttempts: Migration = { up };
