/**
 * All sessions: each time that a stream was live.
 */
import { usePages } from '../../shared/data.ts';
import { bytes, count, duration } from '../../shared/format.ts';
import { go, hrefOf, place } from '../../shared/router.ts';
import type { Session } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { Tabs } from '../../shared/ui/choice.tsx';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Badge, Empty, PageHead } from '../../shared/ui/parts.tsx';
import { type Column, NameLink } from '../../shared/ui/table.tsx';
import { END_WORDS } from '../parts/end-words.ts';

const SHOWN = [
  ['all', 'All'],
  ['live', 'Live'],
  ['ended', 'Not live'],
] as const;
const EVERY_MS = 10_000;

/** The page with all sessions. */
export function Sessions() {
  const show = place.value.query.get('show') ?? 'all';
  const streamId = place.value.query.get('stream');
  const query = new URLSearchParams({ limit: '50' });
  if (streamId !== null) query.set('parentId', streamId);
  if (show === 'live' || show === 'ended')
    query.set('filters', JSON.stringify([{ id: 'isActive', value: show === 'live' }]));
  const sessions = usePages<Session>(`/session?${query}`, {
    everyMs: EVERY_MS,
    on: ({ type }) => type.startsWith('session.'),
  });
  const rows = sessions.value;
  const isFiltered = query.size > 1;
  const choose = (wanted: string) => {
    const next = new URLSearchParams({
      ...(streamId !== null && { stream: streamId }),
      ...(wanted !== 'all' && { show: wanted }),
    });
    go(`/sessions${next.size > 0 ? `?${next}` : ''}`, 'replace');
  };
  return (
    <>
      <PageHead title="Sessions">
        A session is one broadcast: from the moment an encoder starts to when it is gone for good.
      </PageHead>
      <ListCard
        above={
          <div class="filters">
            <Tabs label="Show" options={SHOWN} chosen={show} onChoose={choose} />
            {streamId !== null && (
              <Button small icon="close" onPress={() => go('/sessions', 'replace')}>
                Of one stream only
              </Button>
            )}
          </div>
        }
        data={sessions}
        lines={6}
        empty={
          isFiltered ? (
            <Empty
              icon="search"
              title="No session matches"
              action={<Button onPress={() => go('/sessions', 'replace')}>Show all sessions</Button>}
            />
          ) : (
            <Empty
              icon="history"
              title="No session yet"
              action={<ButtonLink href={hrefOf('/streams')}>Open your streams</ButtonLink>}
            >
              When a stream is live, its session appears here. It stays here, with its numbers, after it has ended.
            </Empty>
          )
        }
        caption="Sessions"
        columns={COLUMNS}
      />
      {rows !== undefined && rows.length > 0 && <p class="hint">{count(rows.length, 'session')} shown.</p>}
    </>
  );
}

const COLUMNS: readonly Column<Session>[] = [
  { name: 'Stream', cell: ({ id, name }) => <NameLink to={`/sessions/${id}`}>{name}</NameLink> },
  { name: 'Began', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { name: 'Lasted', cell: (session) => duration(session.duration) },
  { name: 'State', cell: (session) => <SessionState session={session} /> },
  { name: 'Most viewers', cell: ({ peakViewers }) => peakViewers },
  { name: 'Received', kind: 'end', cell: ({ sourceBytes }) => bytes(sourceBytes) },
];

/** The state of a session, in words. */
export function SessionState({ session }: { readonly session: Session }) {
  const { phase, endReason } = session;
  if (phase === 'live')
    return (
      <Badge tone="live" dot>
        Live
      </Badge>
    );
  if (phase === 'reconnecting') return <Badge tone="warn">Waiting for the encoder to come back</Badge>;
  if (phase === 'starting') return <Badge tone="plain">Starting</Badge>;
  return <span class="soft">{endReason ? END_WORDS[endReason] : 'Ended'}</span>;
}
