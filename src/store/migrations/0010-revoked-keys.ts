/**
 * Bounds what is kept of revoked API keys: no access rules, and the newest 100 of each user.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index api_keys_revoked on api_keys (user_id, revoked_at, id) where revoked_at is not null`.execute(
    db,
  );
  await sql`delete from api_keys where id in (select id from (
    select id, row_number() over (partition by user_id order by revoked_at desc, id desc) as place
    from api_keys where revoked_at is not null) as revoked where place > 100)`.execute(db);
  await sql`update api_keys set access = null where revoked_at is not null and access is not null`.execute(db);
}

/** Deletes the older revoked keys, and the access rules of the others. */
export const revokedKeys: Migration = { up };
