/**
 * Adds the browsers that are signed in to the dashboard, and the links that sign in once. A user has few of both.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table browser_sessions (
    id text primary key not null,
    user_id text not null,
    key_id text,
    secret_hash text not null unique,
    created_at bigint not null,
    last_seen bigint not null,
    address text not null
  )`.execute(db);
  await sql`create index browser_sessions_of_user on browser_sessions (user_id, created_at, id)`.execute(db);
  await sql`create index browser_sessions_by_use on browser_sessions (last_seen)`.execute(db);
  await sql`create table sign_in_links (
    user_id text primary key not null,
    secret_hash text not null unique,
    expires_at bigint not null
  )`.execute(db);
}

/** Adds browser sessions and sign-in links. */
export const browserSessions: Migration = { up };
