/**
 * Queries on the samples of sessions.
 */
import type { Kysely } from 'kysely';
import { sampleOfText, textOfSample } from '#domain/health-sample.ts';
import type { SessionId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Database, SessionSamplesTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { SessionSample } from '#store/store.ts';

/** Prepares the queries for one dialect. */
export function sampleQueries(db: Kysely<Database>) {
  return {
    add: prepare((row: SessionSamplesTable) =>
      db
        .insertInto('session_samples')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['session_id', 'at']).doUpdateSet((eb) => ({ measured: eb.ref('excluded.measured') })),
        ),
    ),

    list: prepare((args: { session_id: SessionId; from: Milliseconds; to: Milliseconds; limit: number }) =>
      db
        .selectFrom('session_samples')
        .selectAll()
        .where('session_id', '=', args.session_id)
        .where('at', '>=', args.from)
        .where('at', '<=', args.to)
        .orderBy('at')
        .limit(args.limit),
    ),
  };
}

/** Makes the row of a sample. */
export const rowOfSample = ({ sessionId, sample }: SessionSample): SessionSamplesTable => ({
  session_id: sessionId,
  at: sample.at,
  measured: textOfSample(sample),
});

/** Makes the sample from a row. */
export const sampleOfRow = ({ at, measured }: SessionSamplesTable) => sampleOfText(at, measured);
