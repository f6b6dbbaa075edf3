/**
 * The store's audit log.
 */
import type { Engine } from '#store/engine.ts';
import { auditOfRow, auditQueries } from '#store/queries/audit.ts';
import { rangeArgs } from '#store/queries/lists.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's audit log. Its entries are stored together with the changes. */
export function auditRecords(runner: Runner, { compiler }: Engine): Store['audit'] {
  const audit = auditQueries(compiler);
  return {
    list: ({ userId, resourceId }, { limit, after }) => {
      const args = {
        ...(userId !== undefined && { user_id: userId }),
        ...(resourceId !== undefined && { resource_id: resourceId }),
        ...rangeArgs({}, 'desc', after),
      };
      return runner.page(
        limit,
        (rows) => audit.page({ ...args, limit: rows }),
        auditOfRow,
        ({ at, id }) => ({ at, id }),
      );
    },

    deleteOlder: (before, limit) => runner.changed(audit.deleteOlder({ before, limit })),
  };
}
