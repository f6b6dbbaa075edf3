/**
 * One stream: its preview, its health with what to change, how to publish to it, and who may watch.
 */
import { useState } from 'preact/hooks';
import { change, get } from '../../shared/api.ts';
import { changedFields } from '../../shared/changed-fields.ts';
import { curlOf } from '../../shared/curl.ts';
import { useData } from '../../shared/data.ts';
import { dateTime } from '../../shared/format.ts';
import { loaded } from '../../shared/loaded.ts';
import { API } from '../../shared/place.ts';
import { isAllowed } from '../../shared/rights.ts';
import { go, hrefOf } from '../../shared/router.ts';
import { signedIn } from '../../shared/session.ts';
import type { Stream, StreamInfo } from '../../shared/types.ts';
import { Button, ButtonLink } from '../../shared/ui/button.tsx';
import { CopyField, changeNow, copyText } from '../../shared/ui/copy.tsx';
import { Confirm, FormDialog } from '../../shared/ui/dialog.tsx';
import { CheckField, NameField, useForm } from '../../shared/ui/form.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Menu } from '../../shared/ui/menu.tsx';
import { Ago, Badge, Card, Failure, Message, PageHead } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import type { PageProps } from '../page-props.ts';
import { Connect } from '../parts/connect.tsx';
import { Preview } from '../parts/preview.tsx';
import { fixedWhileActive, streamState } from '../parts/stream-state.ts';
import { TestPicture } from '../parts/test-picture.tsx';
import { StreamHealth } from './health.tsx';
import { Policy } from './policy.tsx';
import { Profiles } from './profiles.tsx';
import { ShareCard } from './share.tsx';
import { Timeline } from './timeline.tsx';

const LIVE_EVERY_MS = 2500;
const IDLE_EVERY_MS = 15_000;

/** The page of a stream. */
export function StreamPage({ params: { id = '' } }: PageProps) {
  const [dialog, setDialog] = useState<'edit' | 'suspend' | 'terminate' | 'delete' | undefined>();
  const [isLive, setLive] = useState(false);
  const data = useData(
    `stream page ${id}`,
    async (signal) => {
      const found = await get<StreamInfo>(`/stream/${id}/info`, { signal });
      setLive(found.stream.isActive);
      return found;
    },
    { everyMs: isLive ? LIVE_EVERY_MS : IDLE_EVERY_MS, on: (event) => event.streamId === id },
  );
  if (data.value === undefined) {
    return <Waiting data={data} lines={10} />;
  }
  const { stream, session } = data.value;
  const put = (next: Stream) => data.put({ ...data.value!, stream: next });
  const { word, tone } = streamState(stream);
  const rules = signedIn.value?.key?.access?.rules;
  const may = (method: string, path = `/stream/${id}`) =>
    isAllowed(rules, method, path) ? undefined : 'The rules of your API key do not allow this.';
  const resume = async () => {
    await changeNow('The stream is resumed.', 'PATCH', `/stream/${id}`, { suspended: false });
    put({ ...stream, suspended: false });
  };
  return (
    <>
      <PageHead
        title={stream.name}
        back={{ href: hrefOf('/streams'), name: 'Streams' }}
        badge={
          <Badge tone={tone} dot={stream.isActive}>
            {word}
          </Badge>
        }
        actions={
          <>
            {!stream.isActive && !stream.suspended && (
              <ButtonLink kind="primary" icon="streams" href={hrefOf(`/streams/${id}/start`)}>
                Go live
              </ButtonLink>
            )}
            <Menu
              label="More actions"
              items={[
                { name: 'Edit the name', icon: 'edit', forbidden: may('PATCH'), run: () => setDialog('edit') },
                {
                  name: 'Copy as curl',
                  icon: 'terminal',
                  run: async () => {
                    await copyText(curlOf(API, 'GET', `/stream/${id}`));
                    toast('Copied the command that reads this stream.');
                  },
                },
                ...(stream.isActive
                  ? [
                      {
                        name: 'End the broadcast',
                        icon: 'stop',
                        forbidden: may('DELETE', `/stream/${id}/terminate`),
                        run: () => setDialog('terminate'),
                      } as const,
                    ]
                  : []),
                stream.suspended
                  ? { name: 'Resume', icon: 'play', forbidden: may('PATCH'), run: resume }
                  : { name: 'Suspend', icon: 'pause', forbidden: may('PATCH'), run: () => setDialog('suspend') },
                {
                  name: 'Delete',
                  icon: 'trash',
                  danger: true,
                  forbidden: may('DELETE'),
                  run: () => setDialog('delete'),
                },
              ]}
            />
          </>
        }
      />
      {data.error !== undefined && <Failure error={data.error} again={data.reload} />}
      {stream.suspended && (
        <Message
          tone="warn"
          title="This stream is suspended"
          action={
            <Button small onPress={resume}>
              Resume
            </Button>
          }
        >
          Encoders and viewers are refused.
        </Message>
      )}
      <div class="stream-top">
        <Card flush>
          <Preview stream={stream} />
          <dl class="facts under">
            <dt>{stream.isActive ? 'Live since' : 'Last live'}</dt>
            <dd>{stream.isActive && session ? dateTime(session.createdAt) : <Ago at={stream.lastSeen} />}</dd>
            <dt>Created</dt>
            <dd>
              {dateTime(stream.createdAt)} with <bdi>{stream.createdByTokenName}</bdi>
            </dd>
          </dl>
        </Card>
        <StreamHealth stream={stream} session={session} />
      </div>
      {session && stream.isActive && <LivePlots sessionId={session.id} streamId={id} />}
      <div class="columns">
        <Card title="Connect an encoder">
          <Connect stream={stream} onStream={put} />
        </Card>
        <div class="stack">
          <ShareCard stream={stream} />
          <TestPicture stream={stream} />
        </div>
      </div>
      <div class="columns">
        <Profiles stream={stream} forbidden={may('PATCH')} onStream={put} />
        <Policy stream={stream} forbidden={may('PATCH')} onStream={put} />
      </div>
      <Timeline streamId={id} />
      <Card title="Ids">
        <div class="columns">
          <CopyField name="Stream id" value={stream.id} hint="For programs that use the API." />
          <CopyField name="Playback id" value={stream.playbackId} hint="Public: viewers watch the stream with it." />
        </div>
      </Card>
      {dialog === 'edit' && <Edit stream={stream} onStream={put} onClose={() => setDialog(undefined)} />}
      {dialog === 'suspend' && (
        <Confirm
          title="Suspend this stream?"
          action="Suspend"
          onClose={() => setDialog(undefined)}
          changes={[['PATCH', `/stream/${id}`, { suspended: true }]]}
          onDone={() => {
            put({ ...stream, suspended: true });
            toast('The stream is suspended.');
          }}
        >
          <p>
            Its encoder is disconnected and refused, and viewers cannot watch, until you resume it.
            {session && stream.isActive && ` Viewers now: ${session.viewers}.`}
          </p>
        </Confirm>
      )}
      {dialog === 'terminate' && (
        <Confirm
          title="End the broadcast?"
          action="End it"
          onClose={() => setDialog(undefined)}
          changes={[['DELETE', `/stream/${id}/terminate`]]}
          onDone={() => {
            toast('The encoder is disconnected.');
            data.reload();
          }}
        >
          <p>
            The encoder is disconnected. It may connect again with the same key, and many do so by themselves: suspend
            the stream to keep it away.{session && ` Viewers now: ${session.viewers}.`}
          </p>
        </Confirm>
      )}
      {dialog === 'delete' && (
        <Confirm
          title="Delete this stream?"
          action="Delete the stream"
          onClose={() => setDialog(undefined)}
          changes={[['DELETE', `/stream/${id}`]]}
          onDone={() => {
            toast(`“${stream.name}” is deleted.`);
            go('/streams', 'replace');
          }}
        >
          <p>
            Its key and its address stop working at once, and are never used again. Its recordings are deleted a day
            later, and cannot be brought back. Its clips stay, and its sessions stay in the history.
            {session && stream.isActive && ` It is live, with ${session.viewers} viewers now.`}
          </p>
        </Confirm>
      )}
    </>
  );
}

/** The plots, whose script is loaded when a stream is live. */
function LivePlots(ids: { readonly sessionId: string; readonly streamId: string }) {
  const pages = useData('plots', () => loaded(import('../more.ts')));
  return pages.value ? <pages.value.SessionPlots {...ids} isLive /> : <Waiting data={pages} lines={5} />;
}

function Edit({
  stream,
  onStream,
  onClose,
}: {
  readonly stream: Stream;
  readonly onStream: (stream: Stream) => void;
  readonly onClose: () => void;
}) {
  const [name, setName] = useState(stream.name);
  const [record, setRecord] = useState(stream.record);
  const [before] = useState(stream);
  const sent = ['PATCH', `/stream/${stream.id}`, changedFields<Partial<Stream>>(before, { name, record })] as const;
  const form = useForm(async () => {
    await change(...sent);
    onStream({ ...stream, ...sent[2] });
    onClose();
  });
  return (
    <FormDialog title="Edit the stream" form={form} fields={['name']} action="Save" changes={[sent]} onClose={onClose}>
      <NameField form={form} value={name} onValue={setName} />
      <CheckField
        label="Record its sessions"
        checked={record}
        disabled={stream.isActive}
        hint={fixedWhileActive(stream)}
        onValue={setRecord}
      />
    </FormDialog>
  );
}
