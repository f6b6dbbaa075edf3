/**
 * Queries on sessions.
 */
import type { Kysely } from 'kysely';
import type { Profile } from '#domain/profile.ts';
import type { Session, SessionPhase } from '#domain/session.ts';
import type { Database, SessionsTable } from '#store/database.ts';
import { prepare } from '#store/prepared-query.ts';
import type { SessionChange } from '#store/store.ts';

/** The column of everything that may change on a session. */
const CHANGING = {
  phase: 'phase',
  lastSeen: 'last_seen',
  reconnectUntil: 'reconnect_until',
  endedAt: 'ended_at',
  endReason: 'end_reason',
  restarts: 'restarts',
  codecs: 'codecs',
} as const satisfies Record<keyof SessionChange, keyof SessionsTable>;

/** The columns a change sets. */
export type SessionChangeRow = Partial<Pick<SessionsTable, (typeof CHANGING)[keyof SessionChange]>>;

/** The queries, prepared for one dialect. */
export function sessionQueries(db: Kysely<Database>) {
  return {
    /** A repeat sets again what may change, so that a write whose outcome is unknown can be repeated. */
    create: prepare((row: SessionsTable) =>
      db
        .insertInto('sessions')
        .values(row)
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet((eb) =>
              Object.fromEntries(Object.values(CHANGING).map((column) => [column, eb.ref(`excluded.${column}`)])),
            ),
        ),
    ),

    get: prepare((args: Pick<SessionsTable, 'id' | 'user_id'>) =>
      db.selectFrom('sessions').selectAll().where('id', '=', args.id).where('user_id', '=', args.user_id),
    ),

    change: prepare(({ id, ...change }: Pick<SessionsTable, 'id'> & SessionChangeRow) =>
      db.updateTable('sessions').set(change).where('id', '=', id),
    ),

    /** @param phases under any keys */
    inPhases: prepare((phases: Readonly<Record<string, SessionPhase>>) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('phase', 'in', Object.values(phases))
        .orderBy('created_at')
        .orderBy('id'),
    ),
  };
}

/** The columns of a change. A key that is there with `undefined` empties its column; one that is not leaves it. */
export function rowOfSessionChange(change: SessionChange): SessionChangeRow {
  const columns = Object.entries(change).map(([key, value]) => [CHANGING[key as keyof SessionChange], value ?? null]);
  return Object.fromEntries(columns) as SessionChangeRow;
}

/** The row of a session. */
export function rowOfSession(session: Session): SessionsTable {
  return {
    id: session.id,
    stream_id: session.streamId,
    user_id: session.userId,
    playback_id: session.playbackId,
    name: session.name,
    created_by_token_name: session.createdByTokenName,
    profiles: JSON.stringify(session.profiles),
    phase: session.phase,
    created_at: session.createdAt,
    last_seen: session.lastSeen,
    reconnect_until: session.reconnectUntil ?? null,
    ended_at: session.endedAt ?? null,
    end_reason: session.endReason ?? null,
    media_path: session.mediaPath,
    restarts: session.restarts,
    codecs: session.codecs,
  };
}

/** The session of a row. */
export function sessionOfRow(row: SessionsTable): Session {
  return {
    id: row.id,
    streamId: row.stream_id,
    userId: row.user_id,
    playbackId: row.playback_id,
    name: row.name,
    createdByTokenName: row.created_by_token_name,
    profiles: JSON.parse(row.profiles) as Profile[],
    phase: row.phase,
    createdAt: row.created_at,
    lastSeen: row.last_seen,
    reconnectUntil: row.reconnect_until ?? undefined,
    endedAt: row.ended_at ?? undefined,
    endReason: row.end_reason ?? undefined,
    mediaPath: row.media_path,
    restarts: row.restarts,
    codecs: row.codecs,
  };
}
