/**
 * All webhooks: the URLs to which events are delivered.
 */
import { useState } from 'preact/hooks';
import type { EventType, WebhookEventType } from '#domain/events.ts';
import { change } from '../../shared/api.ts';
import { changedFields } from '../../shared/changed-fields.ts';
import type { ApiChange } from '../../shared/curl.ts';
import { usePages } from '../../shared/data.ts';
import { count } from '../../shared/format.ts';
import { go } from '../../shared/router.ts';
import type { Webhook } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { FormDialog } from '../../shared/ui/dialog.tsx';
import { NameField, TextField, useForm } from '../../shared/ui/form.tsx';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Badge, Empty, PageHead } from '../../shared/ui/parts.tsx';
import { type Column, NameLink } from '../../shared/ui/table.tsx';
import { EVENT_TYPES, USUAL_EVENTS } from './event-types.ts';

/** The event types that can be chosen for a webhook. Test events are sent whatever is chosen. */
const CHOICES = (Object.entries(EVENT_TYPES) as [EventType, string][]).filter(([type]) => type !== 'webhook.test');

/** The page with all webhooks. */
export function Webhooks() {
  const webhooks = usePages<Webhook>('/webhook?limit=50', { everyMs: 15_000 });
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <PageHead
        title="Webhooks"
        actions={
          <Button kind="primary" icon="plus" onPress={() => setCreating(true)}>
            Create a webhook
          </Button>
        }
      >
        A webhook sends events of your streams to your own server. Deliveries are signed, and tried for three days.
      </PageHead>
      <ListCard
        data={webhooks}
        empty={
          <Empty
            icon="hook"
            title="No webhook yet"
            action={<Button onPress={() => setCreating(true)}>Create your first webhook</Button>}
          >
            Your server then gets an event when a stream goes live, when it ends, or when its encoder has a problem.
          </Empty>
        }
        caption="Webhooks"
        columns={COLUMNS}
      />
      {isCreating && <EditWebhook onDone={({ id }) => go(`/webhooks/${id}`)} onClose={() => setCreating(false)} />}
    </>
  );
}

const COLUMNS: readonly Column<Webhook>[] = [
  { name: 'Name', cell: ({ id, name }) => <NameLink to={`/webhooks/${id}`}>{name}</NameLink> },
  { name: 'URL', kind: 'soft', dir: 'ltr', cell: ({ url }) => url },
  { name: 'Events', cell: ({ events }) => count(events.length, 'type') },
  { name: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  { name: 'Last request', kind: 'soft', cell: ({ status }) => <Ago at={status.lastTriggeredAt ?? 0} /> },
];

/** The state of a webhook. */
export function WebhookState({ webhook: { disabled, disabledReason, status } }: { readonly webhook: Webhook }) {
  if (disabled) {
    return (
      <Badge tone="bad">
        {disabledReason === 'gone'
          ? 'Disabled: answered 410'
          : disabledReason === 'too_many_deliveries'
            ? 'Disabled: too many waiting'
            : 'Disabled'}
      </Badge>
    );
  }
  const failedLast =
    status.lastFailure !== undefined && status.lastFailure.timestamp >= (status.lastTriggeredAt ?? 0) - 1000;
  return failedLast ? <Badge tone="warn">Last request failed</Badge> : <Badge tone="ok">Active</Badge>;
}

/** The dialog that creates or changes a webhook. */
export function EditWebhook({
  webhook,
  onDone,
  onClose,
}: {
  readonly webhook?: Webhook;
  readonly onDone: (webhook: Webhook) => void;
  readonly onClose: () => void;
}) {
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly WebhookEventType[]>(webhook?.events ?? USUAL_EVENTS);
  const [before] = useState(webhook);
  const body = changedFields<Partial<Webhook>>(before, { name, url, events: [...events] });
  const sent: ApiChange =
    webhook === undefined ? ['POST', '/webhook', body] : ['PATCH', `/webhook/${webhook.id}`, body];
  const form = useForm(async () => {
    const created = await change<Webhook | undefined>(...sent);
    onDone(created ?? { ...webhook!, ...body });
    onClose();
  });
  const toggle = (type: EventType) =>
    setEvents(events.includes(type) ? events.filter((each) => each !== type) : [...events, type]);
  return (
    <FormDialog
      title={webhook === undefined ? 'Create a webhook' : 'Change the webhook'}
      form={form}
      fields={['name', 'url']}
      action={webhook === undefined ? 'Create' : 'Save'}
      changes={[sent]}
      onClose={onClose}
    >
      <NameField form={form} value={name} onValue={setName} />
      <TextField
        label="URL"
        type="url"
        value={url}
        onValue={setUrl}
        required
        placeholder="https://example.com/hooks/live"
        error={form.errorOf('url')}
        hint="Your server must answer each delivery with a 2xx status within 15 seconds."
      />
      <fieldset class="checks">
        <legend>Events</legend>
        {CHOICES.map(([type, meaning]) => (
          <label key={type}>
            <input type="checkbox" checked={events.includes(type)} onChange={() => toggle(type)} />
            <span>
              <code>{type}</code>
              <small>{meaning}</small>
            </span>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
