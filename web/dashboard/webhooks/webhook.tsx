/**
 * One webhook: the requests to it with their answers, the deliveries that wait, and those that were given up.
 */
import { useState } from 'preact/hooks';
import { get, list } from '../../shared/api.ts';
import { useData, usePages } from '../../shared/data.ts';
import { go, hrefOf } from '../../shared/router.ts';
import type { Webhook, WebhookDelivery, WebhookLog } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CopyField, changeNow, toastDone } from '../../shared/ui/copy.tsx';
import { Confirm, Dialog } from '../../shared/ui/dialog.tsx';
import { ListCard, Waiting } from '../../shared/ui/list.tsx';
import { Menu } from '../../shared/ui/menu.tsx';
import { Ago, Badge, Card, Empty, Message, PageHead } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import type { PageProps } from '../page-props.ts';
import { decodedBody, prettyJson } from './bodies.ts';
import { deliveryWords } from './delivery-words.ts';
import { sendTest } from './send-test.ts';
import { EditWebhook, WebhookState } from './webhooks.tsx';

const EVERY_MS = 5000;

/** The page of a webhook. */
export function WebhookPage({ params: { id = '' } }: PageProps) {
  const data = useData(`webhook ${id}`, (signal) => get<Webhook>(`/webhook/${id}`, { signal }), { everyMs: EVERY_MS });
  const log = usePages<WebhookLog>(`/webhook/${id}/log?limit=50`, { everyMs: EVERY_MS });
  const waiting = useData(
    `waiting ${id}`,
    async (signal) => {
      const read = (state: WebhookDelivery['state']) =>
        list<WebhookDelivery>(`/webhook/${id}/delivery?state=${state}&limit=50`, { signal });
      const [pending, dead] = await Promise.all([read('pending'), read('dead')]);
      return { words: deliveryWords(pending, dead), isGivenUp: dead.rows.length > 0 };
    },
    { everyMs: EVERY_MS },
  );
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>();
  const [entry, setEntry] = useState<WebhookLog | undefined>();
  const webhook = data.value;
  if (webhook === undefined) return <Waiting data={data} lines={8} />;
  const reload = () => {
    data.reload();
    log.reload();
    waiting.reload();
  };
  const setDisabled = async (disabled: boolean) => {
    const done = disabled
      ? 'Nothing is sent any more. Events that happen now are not sent later either.'
      : 'Events are sent again. Deliveries that waited are sent first.';
    await changeNow(done, 'PATCH', `/webhook/${id}`, { disabled });
    data.put({ ...webhook, disabled });
  };
  const resend = async (sent: WebhookLog) => {
    await changeNow('Sent again.', 'POST', `/webhook/${id}/log/${sent.id}/resend`);
    reload();
  };
  return (
    <>
      <PageHead
        title={webhook.name}
        back={{ href: hrefOf('/webhooks'), name: 'Webhooks' }}
        badge={<WebhookState webhook={webhook} />}
        actions={
          <>
            <Button
              icon="send"
              forbidden={webhook.disabled ? 'The webhook is disabled. Enable it first.' : undefined}
              onPress={async () => {
                toastDone(await sendTest(id), ['POST', `/webhook/${id}/test`]);
                reload();
              }}
            >
              Send a test event
            </Button>
            <Button icon="edit" onPress={() => setDialog('edit')}>
              Change
            </Button>
            <Menu
              label="More actions"
              items={[
                webhook.disabled
                  ? { name: 'Enable', icon: 'play', run: () => setDisabled(false) }
                  : { name: 'Disable', icon: 'pause', run: () => setDisabled(true) },
                { name: 'Delete', icon: 'trash', danger: true, run: () => setDialog('delete') },
              ]}
            />
          </>
        }
      />
      {webhook.status.lastFailure && (
        <Message tone="warn" title="The last failure">
          {webhook.status.lastFailure.error} <Ago at={webhook.status.lastFailure.timestamp} />
        </Message>
      )}
      {waiting.value?.words !== undefined && (
        <Message
          tone={waiting.value.isGivenUp ? 'bad' : 'info'}
          title={waiting.value.words}
          action={
            <Button
              small
              icon="send"
              onPress={async () => {
                const done = 'Everything that waited or was given up is sent now.';
                await changeNow(done, 'POST', `/webhook/${id}/resend`, { since: 0 });
                reload();
              }}
            >
              Send all now
            </Button>
          }
        >
          A delivery is tried for three days, and then given up until you ask for it.
        </Message>
      )}
      <div class="columns">
        <Card title="Where it goes">
          <div class="stack tight">
            <CopyField name="URL" value={webhook.url} />
            {webhook.sharedSecret !== undefined && (
              <CopyField
                name="Shared secret"
                value={webhook.sharedSecret}
                secret
                hint="Your server checks the signatures of deliveries with it."
              />
            )}
          </div>
        </Card>
        <Card title="Events that are sent">
          <div class="row">
            {webhook.events.length === 0 ? (
              <span class="soft">Nothing.</span>
            ) : (
              webhook.events.map((type) => (
                <Badge key={type} tone="plain">
                  {type}
                </Badge>
              ))
            )}
          </div>
        </Card>
      </div>
      <ListCard
        title="Requests"
        note="What was sent, and what was answered."
        data={log}
        empty={
          <Empty icon="send" title="Nothing was sent yet">
            The first request appears here when one of its events happens.
          </Empty>
        }
        caption="Requests to the webhook"
        columns={[
          {
            name: 'Event',
            cell: (sent) => (
              <button type="button" class="link" onClick={() => setEntry(sent)}>
                {sent.event}
              </button>
            ),
          },
          {
            name: 'Answer',
            cell: ({ success, response }) => (
              <Badge tone={success ? 'ok' : 'bad'}>
                {response ? `${response.status} ${response.statusText}` : 'No answer'}
              </Badge>
            ),
          },
          { name: 'Attempt', cell: ({ attempt }) => attempt },
          { name: 'Took', cell: (sent) => `${Math.round(sent.duration * 1000)} ms` },
          { name: 'When', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            cell: (sent) => (
              <Button small kind="quiet" icon="send" onPress={() => resend(sent)}>
                Send again
              </Button>
            ),
          },
        ]}
      />
      {dialog === 'edit' && <EditWebhook webhook={webhook} onDone={data.put} onClose={() => setDialog(undefined)} />}
      {dialog === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          action="Delete the webhook"
          onClose={() => setDialog(undefined)}
          changes={[['DELETE', `/webhook/${id}`]]}
          onDone={() => {
            toast('The webhook is deleted.');
            go('/webhooks', 'replace');
          }}
        >
          <p>What waits for it is not sent any more, and its log and its shared secret are lost.</p>
        </Confirm>
      )}
      {entry && (
        <Dialog title={entry.event} wide onClose={() => setEntry(undefined)}>
          {entry.error !== undefined && <Message tone="bad">{entry.error}</Message>}
          <h3>Request</h3>
          <div class="code-block" dir="ltr">
            <pre>{prettyJson(entry.request.body)}</pre>
          </div>
          <h3>Answer</h3>
          <div class="code-block" dir="ltr">
            <pre>
              {entry.response
                ? `${entry.response.status} ${entry.response.statusText}\n\n${decodedBody(entry.response.body)}`
                : 'None.'}
            </pre>
          </div>
        </Dialog>
      )}
    </>
  );
}
