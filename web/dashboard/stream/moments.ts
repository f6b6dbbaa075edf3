/**
 * The moments of recordings at which something happened to a stream.
 */
import type { ServiceEvent, Session } from '../../shared/types.ts';

/** The page begins this long before what happened, so that one sees it happen. In milliseconds. */
const LEAD_MS = 5000;
/** What ends a session is reported after its end. In milliseconds. */
const REPORTED_WITHIN_MS = 60_000;
/** The events that something can be seen of. */
const SEEN = /^(session\.|publish\.|stream\.(started|idle)$|recording\.started$)/;

/** A place in a recording. */
export interface Moment {
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The moment of an event; undefined when nothing of it was recorded. @param recorded the sessions of the stream with `record` */
export function momentOf(
  event: Pick<ServiceEvent, 'type' | 'createdAt' | 'sessionId' | 'payload'>,
  recorded: readonly Pick<Session, 'id' | 'createdAt' | 'endedAt' | 'recordingStatus'>[],
): Moment | undefined {
  if (!SEEN.test(event.type)) return undefined;
  // Attempts to publish are counted and reported later.
  const { from } = event.payload as { readonly from?: number };
  const happenedAt = from ?? event.createdAt;
  const session = recorded.find(({ id, createdAt, endedAt = Number.POSITIVE_INFINITY }) =>
    event.sessionId === undefined
      ? happenedAt >= createdAt && happenedAt <= endedAt + REPORTED_WITHIN_MS
      : event.sessionId === id,
  );
  if (session?.recordingStatus !== 'waiting' && session?.recordingStatus !== 'ready') return undefined;
  return { sessionId: session.id, at: Math.max(session.createdAt, happenedAt - LEAD_MS) };
}
