/**
 * Queries on repeatable requests.
 */
import type { Kysely } from 'kysely';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, IdempotencyTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { IdempotencyClaim } from '#store/receipt.ts';

type Columns<Key extends keyof IdempotencyTable> = Pick<IdempotencyTable, Key>;

/** Identifies a request. */
export type RequestKey = Columns<'user_id' | 'route' | 'key_hash'>;

/** Identifies one claim of a request. */
export type ClaimKey = RequestKey & Columns<'claimed_at'>;

/** Prepares the queries for one dialect. */
export function idempotencyQueries(db: Kysely<Database>) {
  return {
    /** Claims a request that nobody has claimed, or that was claimed or answered too long ago. */
    claim: prepare(
      (args: ClaimKey & Columns<'body_hash'> & { pending_since: Milliseconds; kept_since: Milliseconds }) =>
        db
          .insertInto('idempotency')
          .values({
            user_id: args.user_id,
            route: args.route,
            key_hash: args.key_hash,
            body_hash: args.body_hash,
            claimed_at: args.claimed_at,
            answer: null,
          })
          .onConflict((conflict) =>
            conflict
              .columns(['user_id', 'route', 'key_hash'])
              .doUpdateSet((eb) => ({
                body_hash: eb.ref('excluded.body_hash'),
                claimed_at: eb.ref('excluded.claimed_at'),
                answer: null,
              }))
              .where((eb) =>
                eb.or([
                  eb('idempotency.claimed_at', '<=', args.kept_since),
                  eb.and([
                    eb('idempotency.answer', 'is', null),
                    eb('idempotency.claimed_at', '<=', args.pending_since),
                  ]),
                ]),
              ),
          ),
    ),

    get: prepare((args: RequestKey) =>
      db
        .selectFrom('idempotency')
        .select(['body_hash', 'claimed_at', 'answer'])
        .where('user_id', '=', args.user_id)
        .where('route', '=', args.route)
        .where('key_hash', '=', args.key_hash),
    ),

    /** Stores the answer of a claim that nobody has taken over. */
    answer: prepare((args: ClaimKey & { answer: string }) =>
      db
        .updateTable('idempotency')
        .set({ answer: args.answer })
        .where('user_id', '=', args.user_id)
        .where('route', '=', args.route)
        .where('key_hash', '=', args.key_hash)
        .where('claimed_at', '=', args.claimed_at)
        .where('answer', 'is', null),
    ),

    release: prepare((args: ClaimKey) =>
      db
        .deleteFrom('idempotency')
        .where('user_id', '=', args.user_id)
        .where('route', '=', args.route)
        .where('key_hash', '=', args.key_hash)
        .where('claimed_at', '=', args.claimed_at)
        .where('answer', 'is', null),
    ),

    deleteOlder: prepare((args: { before: Milliseconds; limit: number }) =>
      db.deleteFrom('idempotency').where(
        (eb) => eb.refTuple('user_id', 'route', 'key_hash'),
        'in',
        (eb) =>
          eb
            .selectFrom('idempotency')
            .select(['user_id', 'route', 'key_hash'])
            .where('claimed_at', '<', args.before)
            .orderBy('claimed_at')
            .limit(args.limit)
            .$asTuple('user_id', 'route', 'key_hash'),
      ),
    ),
  };
}

/** Makes the key of a claim. */
export function keyOfClaim(claim: IdempotencyClaim): ClaimKey {
  return { user_id: claim.userId, route: claim.route, key_hash: claim.keyHash, claimed_at: claim.at };
}
