/**
 * The store's signing keys.
 */
import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import type { Engine } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import {
  rowOfSigningKey,
  rowOfSigningKeyChange,
  signingKeyOfRow,
  signingKeyQueries,
} from '#store/queries/signing-keys.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's signing keys. */
export function signingKeyRecords(runner: Runner, { compiler }: Engine, clock: Clock): Store['signingKeys'] {
  const keys = signingKeyQueries(compiler);
  const count = (user: UserId, atMost: number) => runner.count(keys.countUpTo({ user_id: user, limit: atMost }));
  const quota = new RowQuota({ what: 'signing keys', count, clock });
  return {
    create: (key, receipt, { atMost = 0 } = {}) =>
      quota.create(key.userId, atMost, async () => {
        await runner.change([keys.create(rowOfSigningKey(key))], [receipt]);
      }),

    get: (id, scope) => runner.one(keys.get({ id, ...ofScope(scope) }), signingKeyOfRow),

    ofUser: (user, page) =>
      runner.newestFirst(page, (args) => keys.pageOfUser({ user_id: user, ...args }), signingKeyOfRow),

    change: (id, scope, change, receipt) =>
      runner.change([changingOne(keys.change({ id, ...ofScope(scope), ...rowOfSigningKeyChange(change) }))], [receipt]),

    delete: (id, scope, receipt) => runner.change([changingOne(keys.delete({ id, ...ofScope(scope) }))], [receipt]),
  };
}
