/**
 * The home page: what needs attention, then the live streams, then the sessions that ended last.
 */
import { useRef } from 'preact/hooks';
import { get } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { isFinal } from '../../shared/errors.ts';
import { bitrate, duration, sentence } from '../../shared/format.ts';
import { needsToken } from '../../shared/owner-token.ts';
import { hrefOf } from '../../shared/router.ts';
import type { Session, Stream } from '../../shared/types.ts';
import { ButtonLink } from '../../shared/ui/button.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Ago, Badge, Card, Empty, Failure, Message, PageHead } from '../../shared/ui/parts.tsx';
import { type Column, DataTable, NameLink } from '../../shared/ui/table.tsx';
import { adviceFor } from '../parts/advice.ts';
import { END_WORDS } from '../parts/end-words.ts';
import { sessionList } from '../parts/session-list.ts';
import { Thumbnail } from '../parts/thumbnail.tsx';
import { needingAttention } from './attention.ts';

const EVERY_MS = 10_000;
/** The most live streams that are shown. */
const MAX_LIVE = 100;
/** The request for streams, ordered by when they were last live. Those that are live now are among the first. */
const STREAMS = `/stream?limit=${MAX_LIVE}&order=lastSeen-true`;
/** The request for those that are live, which costs the server little where few of many are. */
const LIVE = `${STREAMS}&filters=${encodeURIComponent('[{"id":"isActive","value":true}]')}`;
const isChange = ({ type }: { readonly type: string }) => /^(stream|session)\./.test(type);

/** The home page. */
export function Home() {
  const hasStreams = useRef(false);
  const streams = useData(
    'home streams',
    async (signal) => {
      // The first answer also shows whether the user has any stream.
      const read = await get<readonly Stream[]>(hasStreams.current ? LIVE : STREAMS, { signal });
      hasStreams.current ||= read.length > 0;
      return read.filter(({ isActive }) => isActive);
    },
    { everyMs: EVERY_MS, on: isChange },
  );
  const ended = useData('home ended', (signal) => get<readonly Session[]>(sessionList(false, 20), { signal }), {
    on: isChange,
  });
  if (streams.value === undefined) {
    return <Waiting data={streams} lines={8} />;
  }
  if (!hasStreams.current) return <Welcome />;
  const rows = streams.value;
  const attention = needingAttention(rows, ended.value ?? []);
  // The rules of a key may allow streams and not sessions.
  const error = streams.error ?? (isFinal(ended.error) ? undefined : ended.error);
  const reload = () => {
    streams.reload();
    ended.reload();
  };
  const past = (ended.value ?? []).filter(({ phase }) => phase === 'ended').slice(0, 6);
  return (
    <>
      <PageHead
        title="Home"
        actions={
          <>
            <ButtonLink icon="wall" href={hrefOf('/wall')}>
              Wall
            </ButtonLink>
            <ButtonLink kind="primary" icon="plus" href={hrefOf('/streams/new')}>
              Create a stream
            </ButtonLink>
          </>
        }
      />
      {error !== undefined && <Failure error={error} again={reload} />}
      {attention.isAny && (
        <Card title="Needs attention">
          <div class="stack tight">
            {attention.lost.map((session) => (
              <LostEncoder key={session.id} session={session} />
            ))}
            {attention.sick.map((stream) => (
              <Attention key={stream.id} stream={stream} />
            ))}
          </div>
        </Card>
      )}
      <section class="stack tight" aria-label="Live now">
        <div class="row">
          <h2>Live now</h2>
          {rows.length > 0 && (
            <Badge tone="live" dot>
              {rows.length < MAX_LIVE ? rows.length : `${MAX_LIVE} or more`}
            </Badge>
          )}
        </div>
        {rows.length === 0 ? (
          <Card>
            <Empty
              icon="streams"
              title="Nobody is live"
              action={<ButtonLink href={hrefOf('/streams')}>Open your streams</ButtonLink>}
            >
              Streams appear here the moment an encoder starts. {!attention.isAny && 'Nothing needs your attention.'}
            </Empty>
          </Card>
        ) : (
          <ul class="tiles">
            {rows.map((stream) => (
              <Tile key={stream.id} stream={stream} />
            ))}
          </ul>
        )}
      </section>
      {past.length > 0 && (
        <Card
          title="Ended last"
          flush
          actions={
            <ButtonLink kind="quiet" small href={hrefOf('/sessions')}>
              All sessions
            </ButtonLink>
          }
        >
          <DataTable caption="Sessions that ended last" columns={ENDED_COLUMNS} rows={past} />
        </Card>
      )}
    </>
  );
}

const ENDED_COLUMNS: readonly Column<Session>[] = [
  { name: 'Stream', cell: ({ id, name }) => <NameLink to={`/sessions/${id}`}>{name}</NameLink> },
  { name: 'Ended', kind: 'soft', cell: ({ endedAt, lastSeen }) => <Ago at={endedAt ?? lastSeen} /> },
  { name: 'Lasted', cell: (session) => duration(session.duration) },
  { name: 'Most viewers', cell: ({ peakViewers }) => peakViewers },
  { name: 'Why it ended', kind: 'soft', cell: ({ endReason }) => endReason && END_WORDS[endReason] },
];

/** The home page of a service that has no stream yet. */
function Welcome() {
  return (
    <>
      <PageHead title="Welcome to Millrace">Three steps, about a minute.</PageHead>
      <ol class="welcome">
        <li>
          <span class="medallion">
            <Icon name="plus" size={24} />
          </span>
          <strong>Create a stream</strong>
          <span>It needs a name, nothing else.</span>
        </li>
        <li>
          <span class="medallion">
            <Icon name="copy" size={24} />
          </span>
          <strong>Copy two lines into OBS</strong>
          <span>Or one command for ffmpeg. Or let the server send a test picture.</span>
        </li>
        <li>
          <span class="medallion">
            <Icon name="streams" size={24} />
          </span>
          <strong>See the video appear</strong>
          <span>With its health in plain words, and an address to share.</span>
        </li>
      </ol>
      <div class="row">
        <ButtonLink kind="primary" icon="plus" href={hrefOf('/streams/new')}>
          Create your first stream
        </ButtonLink>
      </div>
    </>
  );
}

/** A session that ends unless its encoder comes back. */
function LostEncoder({ session: { name, parentId, lastSeen } }: { readonly session: Session }) {
  return (
    <Message
      tone="bad"
      title={
        <a href={hrefOf(`/streams/${parentId}`)} dir="auto">
          {name}
        </a>
      }
      action={
        <span class="small soft">
          <Ago at={lastSeen} />
        </span>
      }
    >
      The encoder is disconnected. If it does not reconnect soon, the session ends.
    </Message>
  );
}

function Attention({ stream }: { readonly stream: Stream }) {
  const warning = stream.health?.warnings.find(({ severity }) => severity === 'issue');
  const advice = warning && adviceFor(warning.code, stream.health?.encoder);
  return (
    <Message
      tone="warn"
      title={
        <a href={hrefOf(`/streams/${stream.id}`)} dir="auto">
          {stream.name}
        </a>
      }
      action={
        warning && (
          <span class="small soft">
            since <Ago at={warning.since} />
          </span>
        )
      }
    >
      {sentence(stream.issues?.[0] ?? '')} {advice}
    </Message>
  );
}

function Tile({ stream }: { readonly stream: Stream }) {
  const { id, name, playbackId, profiles, playbackPolicy, isHealthy, ingestRate, health } = stream;
  const video = health?.source.video;
  return (
    <li class="tile">
      <a href={hrefOf(`/streams/${id}`)}>
        <Thumbnail
          streamId={id}
          playbackId={playbackId}
          isTranscoded={profiles.length > 0}
          isPublic={!needsToken(playbackPolicy)}
        />
        <span class="over">
          <Badge tone={isHealthy === false ? 'warn' : 'live'} dot>
            {isHealthy === false ? 'Live, with issues' : 'Live'}
          </Badge>
        </span>
        <span class="text">
          <strong dir="auto">{name}</strong>
          <small class="soft number">
            {video ? `${video.height}p${video.fps ? ` · ${Math.round(video.fps)} fps` : ''} · ` : ''}
            {bitrate((ingestRate ?? 0) * 8)}
          </small>
        </span>
      </a>
    </li>
  );
}
