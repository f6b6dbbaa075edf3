/**
 * One session: its measured values and its events.
 */
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bytes, codecName, dateTime, duration } from '../../shared/format.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Session } from '../../shared/types.ts';
import { ButtonLink } from '../../shared/ui/button.tsx';
import { CopyField } from '../../shared/ui/copy.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Card, PageHead, Stat } from '../../shared/ui/parts.tsx';
import type { PageProps } from '../page-props.ts';
import { SessionPlots } from '../plots/session-plots.tsx';
import { Timeline } from '../stream/timeline.tsx';
import { SessionState } from './sessions.tsx';

const EVERY_MS = 5000;
const AROUND_MS = 60_000;

/** The page of a session. */
export function SessionPage({ params: { id = '' } }: PageProps) {
  const data = useData(`session ${id}`, (signal) => get<Session>(`/session/${id}`, { signal }), {
    everyMs: EVERY_MS,
    on: (event) => event.sessionId === id,
  });
  const session = data.value;
  if (session === undefined) return <Waiting data={data} lines={8} />;
  return (
    <>
      <PageHead
        title={session.name}
        back={{ href: hrefOf('/sessions'), name: 'Sessions' }}
        badge={<SessionState session={session} />}
        actions={
          <>
            {session.assetId !== undefined && (
              <ButtonLink kind="primary" href={hrefOf(`/recordings/${session.assetId}`)} icon="film">
                Open the recording
              </ButtonLink>
            )}
            <ButtonLink href={hrefOf(`/streams/${session.parentId}`)} icon="streams">
              Open the stream
            </ButtonLink>
          </>
        }
      />
      <Card title="Numbers">
        <dl class="stats">
          <Stat name="Began" value={dateTime(session.createdAt)} />
          {session.endedAt !== undefined && <Stat name="Ended" value={dateTime(session.endedAt)} />}
          <Stat name="Lasted" value={duration(session.duration)} />
          <Stat name="Most viewers" value={session.peakViewers} />
          <Stat
            name="Received"
            value={bytes(session.sourceBytes)}
            note={`${duration(session.sourceSegmentsDuration)} of media`}
          />
          <Stat
            name="Transcoded"
            value={bytes(session.transcodedBytes)}
            note={`${session.profiles.length} renditions`}
          />
          <Stat name="Codecs" value={session.codecs.map(codecName).join(', ') || '–'} />
        </dl>
      </Card>
      <SessionPlots sessionId={id} streamId={session.parentId} isLive={session.phase !== 'ended'} />
      <Timeline
        streamId={session.parentId}
        from={session.createdAt - AROUND_MS}
        to={session.endedAt && session.endedAt + AROUND_MS}
      />
      <Card title="Ids">
        <CopyField name="Session id" value={session.id} hint="For programs that use the API." />
      </Card>
    </>
  );
}
