/**
 * A link to the moment of a recording at which something happened.
 */
import { get, list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { needsToken, useOwnerToken, withToken } from '../../shared/owner-token.ts';
import type { Playback, ServiceEvent, Session } from '../../shared/types.ts';
import { watchUrl } from '../parts/watch.tsx';
import { momentOf } from './moments.ts';

/** What of a stream was recorded. */
export interface Recorded {
  /** Its last sessions that were to be recorded; empty until they are known. They are found for a deleted stream, too. */
  readonly sessions: readonly Session[];
  /** The owner's token to watch them; empty when none is needed. */
  readonly token: string;
}

/** Finds what of a stream was recorded. */
export function useRecorded(streamId: string): Recorded {
  const sessions = useData(
    `recorded ${streamId}`,
    (signal) => list<Session>(`/session?parentId=${streamId}&record=1&limit=100`, { signal }),
    { on: (event) => event.streamId === streamId && /^(session|recording)\./.test(event.type) },
  );
  const rows = sessions.value?.rows ?? [];
  const playbackId = rows[0]?.playbackId;
  const playback = useData(`policy ${playbackId}`, async (signal) =>
    playbackId === undefined ? undefined : await get<Playback>(`/playback/${playbackId}`, { signal }),
  );
  const token = useOwnerToken(`/stream/${streamId}`, needsToken(playback.value?.meta.playbackPolicy));
  return { sessions: rows, token: token ?? '' };
}

/** The link, when the moment was recorded. @param props.text what happened */
export function MomentLink({
  event,
  text,
  recorded,
}: {
  readonly event: ServiceEvent;
  readonly text: string;
  readonly recorded: Recorded;
}) {
  const moment = momentOf(event, recorded.sessions);
  if (moment === undefined) return null;
  return (
    <>
      {' '}
      <a
        href={withToken(`${watchUrl(moment.sessionId)}?t=${Math.floor(moment.at)}`, recorded.token)}
        target="_blank"
        rel="noopener"
        aria-label={`Watch in the recording: ${text}`}
      >
        Watch
      </a>
    </>
  );
}
