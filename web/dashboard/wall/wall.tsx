/**
 * A wall for control rooms: every live stream as a picture, over the whole screen, with what needs attention first.
 */
import { useEffect, useState } from 'preact/hooks';
import { list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { count, sentence, time } from '../../shared/format.ts';
import { go, hrefOf } from '../../shared/router.ts';
import { second } from '../../shared/ticks.ts';
import type { Session } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Badge } from '../../shared/ui/parts.tsx';
import { sessionList } from '../parts/session-list.ts';
import { Thumbnail } from '../parts/thumbnail.tsx';
import { type Cell, gridOf, wallCells } from './cells.ts';

const EVERY_MS = 5000;
/** The pictures that are shown at most. The others are counted. */
const MAX_CELLS = 100;
const LIVE = `${sessionList(true, MAX_CELLS)}&count=true`;
/** An encoder that was lost is not live, but was a moment ago. */
const RECENT = sessionList(false, 50);
/** The height of the line above the pictures, in pixels. */
const HEAD_HEIGHT = 56;
const isChange = ({ type }: { readonly type: string }) => /^(stream|session|publish)\./.test(type);

/** The page. */
export function Wall() {
  const data = useData('wall', read, { everyMs: EVERY_MS, on: isChange });
  const { width, height } = useWindowSize();
  useEffect(() => {
    const leave = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]')) return;
      go('/');
    };
    document.addEventListener('keydown', leave);
    return () => document.removeEventListener('keydown', leave);
  }, []);
  const cells = data.value?.cells ?? [];
  const sick = cells.filter(({ tone }) => tone !== 'ok').length;
  const hidden = data.value?.hidden ?? 0;
  const { columns, rows } = gridOf(cells.length, width, height - HEAD_HEIGHT);
  return (
    <div class="wall">
      <header>
        <h1>Wall</h1>
        <p role="status">
          {data.value !== undefined && count(cells.length + hidden, 'stream')}{' '}
          {sick > 0 && <Badge tone="warn">{count(sick, 'needs', 'need')} attention</Badge>}
          {hidden > 0 && <span class="soft"> {hidden} not shown</span>}
        </p>
        {data.error !== undefined && <Badge tone="bad">Not up to date</Badge>}
        <Clock />
        {/* An iPhone shows nothing but videos on its full screen. */}
        {document.fullscreenEnabled && (
          <Button
            small
            kind="quiet"
            onPress={() => (document.fullscreenElement ? document.exitFullscreen() : document.body.requestFullscreen())}
          >
            Full screen
          </Button>
        )}
        <ButtonLink small kind="quiet" icon="close" href={hrefOf('/')}>
          Leave
        </ButtonLink>
      </header>
      {data.value === undefined && <Waiting data={data} lines={6} />}
      {data.value !== undefined && cells.length === 0 && (
        <p class="nobody">Nobody is live. Streams appear here the moment an encoder starts.</p>
      )}
      <ul style={{ '--columns': columns, '--rows': rows }}>
        {cells.map((cell) => (
          <Picture key={cell.id} cell={cell} />
        ))}
      </ul>
    </div>
  );
}

async function read(signal: AbortSignal): Promise<{ readonly cells: readonly Cell[]; readonly hidden: number }> {
  const [live, recent] = await Promise.all([list<Session>(LIVE, { signal }), list<Session>(RECENT, { signal })]);
  // The list of live sessions comes last, because it has the newest state of a session that is in both lists.
  const all = wallCells([...recent.rows, ...live.rows]);
  const cells = all.slice(0, MAX_CELLS);
  const unread = Math.max(0, (live.total ?? 0) - live.rows.length);
  return { cells, hidden: all.length - cells.length + unread };
}

// The class is on the link, because Chromium 156 does not style the content of a size container anew when a class of the container changes.
function Picture({ cell }: { readonly cell: Cell }) {
  return (
    <li>
      <a class={cell.tone} href={hrefOf(`/streams/${cell.streamId}`)}>
        <Thumbnail
          streamId={cell.streamId}
          playbackId={cell.playbackId}
          isTranscoded={cell.isTranscoded}
          isPublic={false}
        />
        <span class="caption">
          <strong dir="auto">{cell.name}</strong>
          <span class="state">{cell.word}</span>
          <span class="viewers number">{count(cell.viewers, 'viewer')}</span>
          {cell.problem !== undefined && <span class="problem">{sentence(cell.problem)}</span>}
        </span>
      </a>
    </li>
  );
}

/** The time, by which one sees that the page is alive. */
function Clock() {
  void second.value;
  return <span class="number soft">{time(Date.now())}</span>;
}

function useWindowSize(): { readonly width: number; readonly height: number } {
  const [size, setSize] = useState({ width: innerWidth, height: innerHeight });
  useEffect(() => {
    const measure = () => setSize({ width: innerWidth, height: innerHeight });
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  return size;
}
