/**
 * A link to the moment of a recording at which something happened.
 */
import { list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import type { ServiceEvent, Session } from '../../shared/types.ts';
import { watchUrl } from '../parts/watch.tsx';
import { momentOf } from './moments.ts';

/** The last sessions of a stream that were to be recorded; empty until they are known. They are found for a deleted stream, too. */
export function useRecorded(streamId: string): readonly Session[] {
  const sessions = useData(
    `recorded ${streamId}`,
    (signal) => list<Session>(`/session?parentId=${streamId}&record=1&limit=100`, { signal }),
    { on: (event) => event.streamId === streamId && /^(session|recording)\./.test(event.type) },
  );
  return sessions.value?.rows ?? [];
}

/** The link, when the moment was recorded. @param props.text what happened */
export function MomentLink({
  event,
  text,
  recorded,
}: {
  readonly event: ServiceEvent;
  readonly text: string;
  readonly recorded: readonly Session[];
}) {
  const moment = momentOf(event, recorded);
  if (moment === undefined) return null;
  return (
    <>
      {' '}
      <a
        href={`${watchUrl(moment.sessionId)}?t=${Math.floor(moment.at)}`}
        target="_blank"
        rel="noopener"
        aria-label={`Watch in the recording: ${text}`}
      >
        Watch
      </a>
    </>
  );
}
