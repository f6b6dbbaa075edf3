/**
 * Helps to go live with a stream that exists: how to connect an encoder, and what the server saw of each attempt.
 */
import { useState } from 'preact/hooks';
import { get, list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { hrefOf } from '../../shared/router.ts';
import { serverNow } from '../../shared/server-clock.ts';
import type { Attempt, ServiceEvent, Stream } from '../../shared/types.ts';
import { ButtonLink } from '../../shared/ui/button.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Ago, Card, Failure, Message, PageHead } from '../../shared/ui/parts.tsx';
import type { PageProps } from '../page-props.ts';
import { Connect } from '../parts/connect.tsx';
import { encoderTitle } from '../parts/encoder-name.ts';
import { Preview } from '../parts/preview.tsx';
import { TestPicture } from '../parts/test-picture.tsx';
import { Watch } from '../parts/watch.tsx';
import { attemptsOf, strangeAttempts } from './attempts.ts';

const LOOK_EVERY_MS = 2000;
/** How often attempts with a key that belongs to no stream are asked for. No event reports them to a user. */
const STRANGE_EVERY_MS = 1000;

/** The page that helps to go live with a stream. */
export function GoLive({ params: { id = '' } }: PageProps) {
  const [openedAt] = useState(serverNow);
  const isAbout = (event: ServiceEvent) => event.streamId === id;
  const stream = useData(`stream ${id}`, (signal) => get<Stream>(`/stream/${id}`, { signal }), {
    everyMs: LOOK_EVERY_MS,
    on: isAbout,
  });
  const events = useData(
    `attempts ${id}`,
    (signal) => list<ServiceEvent>(`/event?streamId=${id}&limit=20&from=${openedAt - 600_000}`, { signal }),
    { on: isAbout },
  );
  const strange = useData('strange attempts', (signal) => get<readonly Attempt[]>('/attempt', { signal }), {
    everyMs: stream.value?.isActive ? undefined : STRANGE_EVERY_MS,
  });
  const attempts = [...attemptsOf(events.value?.rows ?? []), ...strangeAttempts(strange.value ?? [], serverNow())];
  // The text says neither how long ago nor how often it happened, because each change would be read aloud.
  const newest = attempts.toSorted((one, other) => other.at - one.at)[0];
  const failure = newest === undefined ? '' : `${encoderTitle(newest.encoder)} could not publish. ${newest.message}`;
  const { value } = stream;
  if (value === undefined) return <Waiting data={stream} lines={8} />;
  const { isActive } = value;
  return (
    <>
      <PageHead
        title={value.name}
        back={{ href: hrefOf('/streams'), name: 'Streams' }}
        actions={
          <ButtonLink href={hrefOf(`/streams/${id}`)} kind={isActive ? 'primary' : 'plain'} icon="arrow">
            Open the stream’s page
          </ButtonLink>
        }
      />
      {stream.error !== undefined && <Failure error={stream.error} again={stream.reload} />}
      <ol class="steps">
        <Step state="done" title="Created">
          The stream has a key and an address.
        </Step>
        <Step
          state={isActive ? 'done' : 'now'}
          title={isActive ? `${encoderTitle(value.health?.encoder)} is connected` : 'Waiting for your encoder'}
        >
          {isActive ? 'Media is coming in.' : 'This page notices it by itself.'}
        </Step>
        <Step state={isActive ? 'done' : 'later'} title="Live">
          {isActive ? 'Viewers can watch.' : 'About two seconds after your encoder starts.'}
        </Step>
      </ol>
      <div class="go-live">
        <Card title="Connect your encoder">
          <Connect stream={value} onStream={stream.put} />
        </Card>
        <div class="stack">
          <Card title={isActive ? 'You are live' : 'What the server sees'} flush>
            <Preview stream={value}>
              <div class="waiting">
                <span class="pulse" aria-hidden="true" />
                <strong>Waiting for your encoder</strong>
                <span>The video appears here.</span>
              </div>
            </Preview>
            <p class="visually-hidden" role="status">
              {isActive ? 'The stream is live.' : failure}
            </p>
            <div class="below">
              {!isActive &&
                attempts.map(({ id: key, encoder, address, message, at, count }) => (
                  <Message
                    key={key}
                    tone="bad"
                    title={
                      <>
                        <bdi>{encoderTitle(encoder)}</bdi> tried from {address}, <Ago at={at} />
                        {count > 1 && ` (${count} times)`}
                      </>
                    }
                  >
                    {message}
                  </Message>
                ))}
              {!isActive && events.error !== undefined && <Failure error={events.error} again={events.reload} />}
              {!isActive && attempts.length === 0 && events.error === undefined && (
                <p class="soft">An attempt that fails is explained here: which key was used, and what to change.</p>
              )}
              {isActive && (
                <div class="stack tight">
                  <Watch name="Address for viewers" stream={value} />
                </div>
              )}
            </div>
          </Card>
          <TestPicture stream={value} />
        </div>
      </div>
    </>
  );
}

function Step({
  state,
  title,
  children,
}: {
  readonly state: 'done' | 'now' | 'later';
  readonly title: string;
  readonly children: string;
}) {
  return (
    <li class={state} aria-current={state === 'now' ? 'step' : undefined}>
      <span class="disc" aria-hidden="true">
        {state === 'done' && <Icon name="check" size={16} />}
      </span>
      <div>
        <strong dir="auto">{title}</strong>
        <span>{children}</span>
      </div>
    </li>
  );
}
