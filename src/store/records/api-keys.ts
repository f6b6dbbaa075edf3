/**
 * The store's API keys.
 */

import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import type { Engine } from '#store/engine.ts';
import { changingOne } from '#store/prepared-query.ts';
import { apiKeyOfRow, apiKeyQueries, keyAndUserOfRow, rowOfApiKey } from '#store/queries/api-keys.ts';
import { browserSessionQueries } from '#store/queries/browser-sessions.ts';
import { rowOfUser, userQueries } from '#store/queries/users.ts';
import { RowQuota } from '#store/row-quota.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import { REVOKED_KEYS_KEPT, type Store } from '#store/store.ts';

const TAKEN = 'The user already has an API key with this name; revoke that key, or choose another name.';

/** Makes the store's API keys. */
export function apiKeyRecords(runner: Runner, { compiler, patched }: Engine, clock: Clock): Store['apiKeys'] {
  const apiKeys = apiKeyQueries(compiler);
  const sessions = browserSessionQueries(compiler);
  const users = userQueries(compiler, patched);
  const countOf = (user: UserId, atMost: number) => runner.count(apiKeys.countUpTo({ user_id: user, limit: atMost }));
  const quota = new RowQuota({ what: 'API keys', count: countOf, clock });
  return {
    create: (key, receipt, { atMost = 0 } = {}) =>
      quota.create(key.userId, atMost, async () => {
        await runner.change([apiKeys.create(rowOfApiKey(key))], [receipt], { taken: TAKEN });
      }),

    createFirst(user, key, receipts) {
      const { user_id: _, revoked_at: __, ...row } = rowOfApiKey(key);
      const create = changingOne(apiKeys.createFirst({ ...row, user_name: user.name }));
      return runner.change([users.addFirst(rowOfUser(user)), create], receipts);
    },

    byHash(secretHash, stranger) {
      const query = apiKeys.byHash({ secret_hash: secretHash });
      return stranger === undefined
        ? runner.cachedSoon(query, keyAndUserOfRow)
        : runner.strangersOne(query, keyAndUserOfRow, stranger);
    },
    get: (id, scope) => runner.one(apiKeys.get({ id, ...ofScope(scope) }), apiKeyOfRow),

    ofUser: (user, page) =>
      runner.newestFirst(page, (args) => apiKeys.pageOfUser({ user_id: user, ...args }), apiKeyOfRow),

    countOf,

    exist: () => runner.exists(apiKeys.any({})),
    wereUsed: () => runner.exists(apiKeys.anyUsed({})),

    list: () => runner.all(apiKeys.list({}), (row) => ({ ...apiKeyOfRow(row), userName: row.user_name })),

    revoke: (id, scope, receipt) =>
      runner.change(
        [
          changingOne(apiKeys.revoke({ id, ...ofScope(scope), at: receipt.audit.at })),
          sessions.endOfKey({ id }),
          apiKeys.deleteRevoked({ id, kept: REVOKED_KEYS_KEPT }),
        ],
        [receipt],
      ),

    async seen(times) {
      if (times.size === 0) return;
      await runner.write([...times].map(([id, at]) => apiKeys.seen({ id, last_seen: at })));
    },
  };
}
