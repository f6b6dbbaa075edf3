/**
 * One stream for the dock of a streaming program: a narrow, dark page with its state, what to change, and the numbers that matter while one streams.
 */
import { useEffect } from 'preact/hooks';
import { get, list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { bitrate } from '../../shared/format.ts';
import { hrefOf } from '../../shared/router.ts';
import { serverNow } from '../../shared/server-clock.ts';
import type { Samples, ServiceEvent, StreamInfo } from '../../shared/types.ts';
import { Waiting } from '../../shared/ui/list.tsx';
import { Ago, Badge, Elapsed, Message, Stat } from '../../shared/ui/parts.tsx';
import { attemptsOf, type FailedAttempt } from '../first-run/attempts.ts';
import type { PageProps } from '../page-props.ts';
import { encoderTitle } from '../parts/encoder-name.ts';
import { dockState } from './dock-state.ts';

const EVERY_MS = 5000;
/** How far back samples are read, and how far attempts that failed. In milliseconds. */
const SAMPLES_MS = 60_000;
const ATTEMPTS_MS = 600_000;

interface DockData {
  readonly info: StreamInfo;
  readonly samples: Samples['samples'];
  readonly attempts: readonly FailedAttempt[];
}

/** The page. */
export function Dock({ params: { id = '' } }: PageProps) {
  const data = useData(`dock ${id}`, (signal) => read(id, signal), {
    everyMs: EVERY_MS,
    on: (event) => event.streamId === id,
  });
  return (
    <div class="dock">
      {data.value === undefined ? (
        <Waiting data={data} lines={5} />
      ) : (
        <StreamInDock id={id} isStale={data.error !== undefined} {...data.value} />
      )}
    </div>
  );
}

async function read(id: string, signal: AbortSignal): Promise<DockData> {
  const info = await get<StreamInfo>(`/stream/${id}/info`, { signal });
  const { stream, session } = info;
  if (stream.isActive && session) {
    const from = serverNow() - SAMPLES_MS;
    const { samples } = await get<Samples>(`/session/${session.id}/samples?from=${Math.round(from)}`, { signal });
    return { info, samples, attempts: [] };
  }
  const from = Math.round(serverNow() - ATTEMPTS_MS);
  const events = await list<ServiceEvent>(`/event?streamId=${stream.id}&limit=20&from=${from}`, { signal });
  return { info, samples: [], attempts: attemptsOf(events.rows).slice(0, 1) };
}

function StreamInDock({
  id,
  isStale,
  info,
  samples,
  attempts,
}: DockData & { readonly id: string; readonly isStale: boolean }) {
  const { stream, session } = info;
  const { isLive, health, problem, advice } = dockState(info, samples);
  // When the page is open in a browser tab, the tab shows the state as well.
  useEffect(() => {
    document.title = `${isLive ? 'Live' : health.word}: ${stream.name}`;
  }, [isLive, health.word, stream.name]);
  const fps = stream.health?.source.video?.fps;
  const newest = samples.at(-1);
  return (
    <>
      <header>
        <Badge tone={isLive ? 'live' : 'plain'} dot={isLive}>
          {isLive ? 'Live' : 'Not live'}
        </Badge>
        {isLive && <Elapsed since={session?.createdAt} />}
        {!isLive && stream.lastSeen > 0 && (
          <span class="soft">
            <Ago at={stream.lastSeen} />
          </span>
        )}
      </header>
      <h1 dir="auto">{stream.name}</h1>
      <p class={`health ${health.tone}`} role="status">
        {health.word}
      </p>
      {problem !== undefined && (
        <Message tone={health.tone === 'bad' ? 'bad' : 'warn'} title={problem}>
          {advice}
        </Message>
      )}
      {attempts.map(({ id: key, encoder, message, at }) => (
        <Message
          key={key}
          tone="bad"
          title={
            <>
              <bdi>{encoderTitle(encoder)}</bdi> tried, <Ago at={at} />
            </>
          }
        >
          {message}
        </Message>
      ))}
      <dl class="stats">
        <Stat name="Bitrate" value={isLive ? bitrate((stream.ingestRate ?? 0) * 8) : '–'} />
        <Stat name="Frames" value={isLive && fps !== undefined ? `${Math.round(fps * 10) / 10} fps` : '–'} />
        <Stat
          name="Drift"
          value={newest === undefined ? '–' : `${newest.drift.toFixed(1)} s`}
          tone={newest !== undefined && newest.drift > 2 ? 'warn' : undefined}
        />
        <Stat name="Viewers" value={session && session.phase !== 'ended' ? session.viewers : '–'} />
      </dl>
      <footer>
        <a href={hrefOf(`/streams/${id}`)} target="_blank" rel="noopener">
          Open its page
        </a>
        {isStale && <Badge tone="bad">Not up to date</Badge>}
      </footer>
    </>
  );
}
