/**
 * The store's counters of usage.
 */
import type { Engine } from '#store/engine.ts';
import { rowOfHour, sumOfRow, usageQueries } from '#store/queries/usage.ts';
import { ofScope, type Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's counters of usage. */
export function usageRecords(runner: Runner, { compiler }: Engine): Store['usage'] {
  const usage = usageQueries(compiler);
  return {
    async count(hours) {
      if (hours.length > 0) await runner.write(hours.map((hour) => usage.count(rowOfHour(hour))));
    },

    sum(scope, { from, to, stepMs, by, streamId, limit }) {
      const args = { from, to, limit, ...ofScope(scope), ...(streamId !== undefined && { stream_id: streamId }) };
      return runner.all(usage.sum({ stepMs, ...(by && { by }) }, args), sumOfRow);
    },

    deleteOlder: (before, limit) => runner.changed(usage.deleteOlder({ before, limit })),
  };
}
