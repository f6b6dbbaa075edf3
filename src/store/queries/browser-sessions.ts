/**
 * Queries on browser sessions and sign-in links.
 */
import type { ExpressionBuilder, Kysely } from 'kysely';
import type { BrowserSession, SignInLink } from '#domain/browser-session.ts';
import type { ApiKey, User } from '#domain/user.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { ApiKeysTable, BrowserSessionsTable, Database, SignInLinksTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { OpenBrowserSession } from '#store/store.ts';
import { apiKeyOfRow, OWNER_COLUMNS, type OwnerRow, ownerOfRow } from './api-keys.ts';
import { is, newestFirst, ofUser, type PageArgs } from './lists.ts';

type Columns<Key extends keyof BrowserSessionsTable> = Pick<BrowserSessionsTable, Key>;

/** The columns of a session's key, in the same row. All are null without a key, or when it is revoked. */
interface KeyRow {
  found_key_id: ApiKeysTable['id'] | null;
  key_name: ApiKeysTable['name'] | null;
  key_secret_hash: ApiKeysTable['secret_hash'] | null;
  key_created_at: ApiKeysTable['created_at'] | null;
  key_access: ApiKeysTable['access'];
  key_last_seen: ApiKeysTable['last_seen'] | null;
}

/** Prepares the queries for one dialect. */
export function browserSessionQueries(db: Kysely<Database>) {
  const open = db
    .selectFrom('browser_sessions')
    .selectAll('browser_sessions')
    .innerJoin('users', 'users.id', 'browser_sessions.user_id')
    .select(OWNER_COLUMNS)
    .leftJoin('api_keys', (join) =>
      join.onRef('api_keys.id', '=', 'browser_sessions.key_id').on('api_keys.revoked_at', 'is', null),
    )
    .select([
      'api_keys.id as found_key_id',
      'api_keys.name as key_name',
      'api_keys.secret_hash as key_secret_hash',
      'api_keys.created_at as key_created_at',
      'api_keys.access as key_access',
      'api_keys.last_seen as key_last_seen',
    ])
    .where((eb) => eb.or([eb('browser_sessions.key_id', 'is', null), eb('api_keys.id', 'is not', null)]));
  return {
    create: prepare((row: BrowserSessionsTable) => db.insertInto('browser_sessions').values(row)),

    byHash: prepare((args: Columns<'secret_hash'>) =>
      open.where('browser_sessions.secret_hash', '=', args.secret_hash),
    ),

    byId: prepare((args: Columns<'id'>) => open.where('browser_sessions.id', '=', args.id)),

    pageOfUser: prepare((args: Columns<'user_id'> & PageArgs) =>
      newestFirst<BrowserSessionsTable>(db, 'browser_sessions', [is('user_id', args.user_id)], args),
    ),

    seen: prepare((args: Columns<'id' | 'last_seen' | 'address'>) =>
      db
        .updateTable('browser_sessions')
        .set({ last_seen: args.last_seen, address: args.address })
        .where('id', '=', args.id)
        .where('last_seen', '<', args.last_seen),
    ),

    /** Without `user_id`, ends the session of any user. */
    end: prepare((args: Columns<'id'> & Partial<Columns<'user_id'>>) =>
      db.deleteFrom('browser_sessions').where('id', '=', args.id).where(ofUser(args)),
    ),

    /** Ends all but the newest `kept` sessions that began with an API key or, without `key_id`, with links of a user. */
    endOldest: prepare(
      ({ user_id, key_id, kept }: Columns<'user_id'> & { key_id?: ApiKeysTable['id']; kept: number }) => {
        const begunWith = (eb: ExpressionBuilder<Database, 'browser_sessions'>) =>
          key_id === undefined ? eb('key_id', 'is', null) : eb('key_id', '=', key_id);
        const newest = db
          .selectFrom('browser_sessions')
          .select('id')
          .where('user_id', '=', user_id)
          .where(begunWith)
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(kept);
        return db
          .deleteFrom('browser_sessions')
          .where('user_id', '=', user_id)
          .where(begunWith)
          .where('id', 'not in', newest);
      },
    ),

    /** Ends the sessions that began with an API key. */
    endOfKey: prepare(({ id }: Pick<ApiKeysTable, 'id'>) =>
      db
        .deleteFrom('browser_sessions')
        // The index begins with the user, so it needs this condition.
        .where('user_id', '=', db.selectFrom('api_keys').select('user_id').where('id', '=', id))
        .where('key_id', '=', id),
    ),

    /** Sessions whose key has rules stay until they are too old, because whether they may be idle depends on the rules. */
    deleteOver: prepare((args: { idle_since: Milliseconds; begun_by: Milliseconds }) => {
      const ruled = db.selectFrom('api_keys').select('id').where('access', 'is not', null);
      return db
        .deleteFrom('browser_sessions')
        .where((eb) =>
          eb.or([
            eb('created_at', '<', args.begun_by),
            eb.and([
              eb('last_seen', '<', args.idle_since),
              eb.or([eb('key_id', 'is', null), eb('key_id', 'not in', ruled)]),
            ]),
          ]),
        );
    }),

    /** Makes the link of a user, in place of an older one. */
    putLink: prepare((row: SignInLinksTable) =>
      db
        .insertInto('sign_in_links')
        .values(row)
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet((eb) => ({
            secret_hash: eb.ref('excluded.secret_hash'),
            expires_at: eb.ref('excluded.expires_at'),
          })),
        ),
    ),

    link: prepare((args: Pick<SignInLinksTable, 'secret_hash'>) =>
      db.selectFrom('sign_in_links').selectAll().where('secret_hash', '=', args.secret_hash),
    ),

    useLink: prepare((args: Pick<SignInLinksTable, 'secret_hash'> & { now: Milliseconds }) =>
      db.deleteFrom('sign_in_links').where('secret_hash', '=', args.secret_hash).where('expires_at', '>', args.now),
    ),
  };
}

/** Makes the row of a session. */
export function rowOfBrowserSession(session: BrowserSession): BrowserSessionsTable {
  return {
    id: session.id,
    user_id: session.userId,
    key_id: session.keyId ?? null,
    secret_hash: session.secretHash,
    created_at: session.createdAt,
    last_seen: session.lastSeen,
    address: session.address,
  };
}

/** Makes the session from a row. */
export function browserSessionOfRow(row: BrowserSessionsTable): BrowserSession {
  return {
    id: row.id,
    userId: row.user_id,
    keyId: row.key_id ?? undefined,
    secretHash: row.secret_hash,
    createdAt: row.created_at,
    lastSeen: row.last_seen,
    address: row.address,
  };
}

/** Makes the session, its user and its key from a row. */
export function openSessionOfRow(row: BrowserSessionsTable & OwnerRow & KeyRow): OpenBrowserSession {
  const user: User = ownerOfRow(row);
  return { session: browserSessionOfRow(row), user, key: keyOfRow(row) };
}

function keyOfRow(row: BrowserSessionsTable & KeyRow): ApiKey | undefined {
  if (row.found_key_id === null) return undefined;
  return apiKeyOfRow({
    id: row.found_key_id,
    user_id: row.user_id,
    name: row.key_name!,
    secret_hash: row.key_secret_hash!,
    created_at: row.key_created_at!,
    revoked_at: null,
    access: row.key_access,
    last_seen: row.key_last_seen!,
  });
}

/** Makes the row of a link. */
export const rowOfLink = ({ userId, secretHash, expiresAt }: SignInLink): SignInLinksTable => ({
  user_id: userId,
  secret_hash: secretHash,
  expires_at: expiresAt,
});

/** Makes the link from a row. */
export const linkOfRow = (row: SignInLinksTable): SignInLink => ({
  userId: row.user_id,
  secretHash: row.secret_hash,
  expiresAt: row.expires_at,
});
