/**
 * All streams: finds them by name, filters them, and changes many at a time.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { change, list } from '../../shared/api.ts';
import { changeEach } from '../../shared/change-each.ts';
import type { ApiChange } from '../../shared/curl.ts';
import { useData, usePages } from '../../shared/data.ts';
import { sentenceOf } from '../../shared/errors.ts';
import { bitrate, count } from '../../shared/format.ts';
import { go, hrefOf, place } from '../../shared/router.ts';
import type { Stream } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { Tabs } from '../../shared/ui/choice.tsx';
import { toastDone } from '../../shared/ui/copy.tsx';
import { Confirm } from '../../shared/ui/dialog.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Badge, Empty, PageHead } from '../../shared/ui/parts.tsx';
import { type Column, NameLink } from '../../shared/ui/table.tsx';
import { streamState } from '../parts/stream-state.ts';
import { LIVE_STREAMS, listPath, STREAM_FILTERS } from './list-path.ts';
import { liveWords } from './live-words.ts';

const TYPED_PAUSE_MS = 250;
const LIVE_EVERY_MS = 10_000;

/** The page with all streams. */
export function Streams() {
  const { query } = place.value;
  const name = query.get('name') ?? '';
  const filter = query.get('show') ?? 'all';
  const [typed, setTyped] = useState(name);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<'delete' | 'suspend' | undefined>();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A link may lead to another search than the one that was typed.
  useEffect(() => {
    if (typed.trim() !== name) setTyped(name);
  }, [place.value]);
  const streams = usePages<Stream>(listPath(name, filter), {
    everyMs: LIVE_EVERY_MS,
    on: ({ type }) => type.startsWith('stream.') || type.startsWith('session.'),
  });
  const search = (wanted: string, show: string = filter) => {
    const next = new URLSearchParams(
      Object.entries({ name: wanted.trim(), show }).filter(([, value]) => value !== '' && value !== 'all'),
    );
    go(`/streams${next.size === 0 ? '' : `?${next}`}`, 'replace');
  };
  const onType = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    const typedAt = place.value;
    timer.current = setTimeout(() => {
      // A user who has opened another page in the meantime does not want this search any more.
      if (place.value === typedAt) search(text);
    }, TYPED_PAUSE_MS);
  };
  const isFiltered = name !== '' || filter !== 'all';
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const suspending = (suspended: boolean) =>
    [...chosen].map((id) => ['PATCH', `/stream/${id}/suspended`, { suspended }] as const);
  /** Suspends or resumes the chosen streams. Those that could not be changed stay chosen. */
  const suspend = async (suspended: boolean) => {
    const sent = suspending(suspended);
    const { done: changed, left, error } = await changeEach(sent, (each) => change(...each));
    const words = `${count(changed.length, 'stream')} ${suspended ? 'suspended' : 'resumed'}.`;
    if (changed.length > 0 || left.length === 0) done(words, ...changed);
    if (left.length === 0) return;
    setChosen(new Set([...chosen].filter((_, index) => left.includes(sent[index]!))));
    throw new Error(`Not changed, and still chosen: ${count(left.length, 'stream')}. ${sentenceOf(error)}`);
  };
  const done = (text: string, ...sent: readonly ApiChange[]) => {
    toastDone(text, ...sent);
    setChosen(new Set());
    streams.reload();
  };
  return (
    <>
      <PageHead
        title="Streams"
        actions={
          <ButtonLink kind="primary" icon="plus" href={hrefOf('/streams/new')}>
            Create a stream
          </ButtonLink>
        }
      />
      <ListCard
        above={
          <>
            <div class="filters">
              <div class="search-box">
                <Icon name="search" size={18} />
                <input
                  type="search"
                  aria-label="Search streams by name"
                  placeholder="Search by name"
                  dir="auto"
                  value={typed}
                  onInput={(event) => onType(event.currentTarget.value)}
                />
              </div>
              <Tabs label="Show" options={STREAM_FILTERS} chosen={filter} onChoose={(show) => search(typed, show)} />
            </div>
            {chosen.size > 0 && (
              <div class="selection" role="status">
                <strong>{count(chosen.size, 'stream')} chosen</strong>
                <Button small icon="pause" onPress={() => setAsked('suspend')}>
                  Suspend
                </Button>
                <Button small icon="play" onPress={() => suspend(false)}>
                  Resume
                </Button>
                <Button small icon="trash" onPress={() => setAsked('delete')}>
                  Delete
                </Button>
                <Button small kind="quiet" onPress={() => setChosen(new Set())}>
                  Clear
                </Button>
              </div>
            )}
          </>
        }
        data={streams}
        lines={6}
        empty={
          isFiltered ? (
            <Empty
              icon="search"
              title="No stream matches"
              action={<Button onPress={() => go('/streams', 'replace')}>Show all streams</Button>}
            >
              Try a part of the name, or another filter.
            </Empty>
          ) : (
            <Empty
              icon="streams"
              title="No stream yet"
              action={
                <ButtonLink kind="primary" icon="plus" href={hrefOf('/streams/new')}>
                  Create your first stream
                </ButtonLink>
              }
            >
              A stream is a place to publish to. Create one, copy two lines into OBS, and see the video appear here.
            </Empty>
          )
        }
        caption="Streams"
        columns={[
          {
            name: 'Choose',
            kind: 'choose',
            cell: ({ id, name: own }) => (
              <input
                type="checkbox"
                checked={chosen.has(id)}
                aria-label={`Choose ${own}`}
                onChange={() => toggle(id)}
              />
            ),
          },
          ...COLUMNS,
        ]}
      />
      {asked === 'suspend' && (
        <Confirm
          title={`Suspend ${count(chosen.size, 'stream')}?`}
          action="Suspend"
          onClose={() => setAsked(undefined)}
          changes={suspending(true)}
          send={() => suspend(true)}
        >
          <p>
            Their encoders are disconnected and refused, and viewers cannot watch, until you resume them.{' '}
            <LiveAmong ids={chosen} />
          </p>
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={`Delete ${count(chosen.size, 'stream')}?`}
          action="Delete"
          typed={`delete ${chosen.size}`}
          onClose={() => setAsked(undefined)}
          changes={[['DELETE', '/stream', { ids: [...chosen] }]]}
          onDone={() => done(`${count(chosen.size, 'stream')} deleted.`)}
        >
          <p>
            Their keys and addresses stop working at once, and are never used again. Their recordings are deleted a day
            later, and cannot be brought back. Their clips stay. <LiveAmong ids={chosen} />
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Says which of the chosen streams are live now. It asks the server, because the list may not show all of them any more. */
function LiveAmong({ ids }: { readonly ids: ReadonlySet<string> }) {
  const live = useData('live among chosen', (signal) => list<Stream>(LIVE_STREAMS, { signal }));
  if (live.value === undefined) return <>{live.error !== undefined && 'Some of them may be live.'}</>;
  const { rows, next } = live.value;
  const names = rows.filter(({ id }) => ids.has(id)).map(({ name }) => name);
  return <>{liveWords(names, next === undefined)}</>;
}

const COLUMNS: readonly Column<Stream>[] = [
  { name: 'Name', cell: ({ id, name }) => <NameLink to={`/streams/${id}`}>{name}</NameLink> },
  {
    name: 'State',
    cell: (stream) => {
      const { word, tone } = streamState(stream);
      return (
        <Badge tone={tone} dot={stream.isActive}>
          {word}
        </Badge>
      );
    },
  },
  {
    name: 'Ingest',
    kind: 'soft',
    cell: ({ isActive, ingestRate }) => (isActive ? bitrate((ingestRate ?? 0) * 8) : '–'),
  },
  { name: 'Last live', kind: 'soft', cell: ({ isActive, lastSeen }) => (isActive ? 'now' : <Ago at={lastSeen} />) },
  { name: 'Created', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
];
