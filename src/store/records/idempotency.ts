/**
 * The store's repeatable requests.
 */

import { ms } from '#lib/units.ts';
import type { IdempotencyTable } from '#store/database.ts';
import type { Engine } from '#store/engine.ts';
import { idempotencyQueries, keyOfClaim } from '#store/queries/idempotency.ts';
import type { IdempotencyClaim, IdempotencyState } from '#store/receipt.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's repeatable requests. */
export function idempotencyRecords(runner: Runner, { compiler }: Engine): Store['idempotency'] {
  const idempotency = idempotencyQueries(compiler);
  return {
    async claim(claim, { pendingMs, keepMs }) {
      const { claimed_at: claimedAt, ...request } = keyOfClaim(claim);
      const claimed = await runner.changed(
        idempotency.claim({
          ...request,
          claimed_at: claimedAt,
          body_hash: claim.bodyHash,
          pending_since: ms(claim.at - pendingMs),
          kept_since: ms(claim.at - keepMs),
        }),
      );
      if (claimed === 1) return { state: 'claimed' };
      const state = await runner.one(idempotency.get(request), (row) => stateOf(row, claim));
      // The claim was released in between. The next attempt gets it.
      return state ?? { state: 'pending' };
    },

    async known(claim, { pendingMs, keepMs }) {
      const { claimed_at: _, ...request } = keyOfClaim(claim);
      return await runner.one(idempotency.get(request), (row) => {
        const heldForMs = row.answer === null ? pendingMs : keepMs;
        return row.claimed_at > claim.at - heldForMs ? stateOf(row, claim) : undefined;
      });
    },

    async release(claim) {
      await runner.write([idempotency.release(keyOfClaim(claim))]);
    },

    deleteOlder: (before, limit) => runner.changed(idempotency.deleteOlder({ before, limit })),
  };
}

/** The state of a request that somebody has claimed. */
function stateOf(
  row: Pick<IdempotencyTable, 'body_hash' | 'answer'>,
  { bodyHash }: IdempotencyClaim,
): IdempotencyState {
  if (row.body_hash !== bodyHash) return { state: 'other_body' };
  return row.answer === null ? { state: 'pending' } : { state: 'answered', sealed: row.answer };
}
