/**
 * The store's samples of sessions.
 */
import type { Engine } from '#store/engine.ts';
import { rowOfSample, sampleOfRow, sampleQueries } from '#store/queries/samples.ts';
import type { Runner } from '#store/runner.ts';
import type { Store } from '#store/store.ts';

/** Makes the store's samples. */
export function sampleRecords(runner: Runner, { compiler }: Engine): Store['samples'] {
  const samples = sampleQueries(compiler);
  return {
    async add(added) {
      await runner.write(added.map((sample) => samples.add(rowOfSample(sample))));
    },

    async list(session, range) {
      const found = await runner.all(samples.list({ session_id: session, ...range }), sampleOfRow);
      return found.filter((sample) => sample !== undefined);
    },
  };
}
