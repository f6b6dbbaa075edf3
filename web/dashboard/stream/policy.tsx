/**
 * Who may watch a stream.
 */
import { useState } from 'preact/hooks';
import { change, list } from '../../shared/api.ts';
import { useData } from '../../shared/data.ts';
import { ROOT } from '../../shared/place.ts';
import type { PlaybackPolicy, Stream } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { type Choice, Choices } from '../../shared/ui/choice.tsx';
import { FormDialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextField, useForm } from '../../shared/ui/form.tsx';
import { Waiting } from '../../shared/ui/list.tsx';
import { Card } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';

interface Props {
  readonly stream: Stream;
  readonly forbidden: string | undefined;
  readonly onStream: (stream: Stream) => void;
}

const POLICIES: readonly (Choice & { readonly id: PlaybackPolicy['type'] })[] = [
  { id: 'public', name: 'Everybody', meaning: 'Whoever has the address can watch.' },
  {
    id: 'jwt',
    name: 'With a token',
    meaning: 'Viewers need a token that your server signed with one of your signing keys.',
  },
  { id: 'webhook', name: 'Your server decides', meaning: 'Your server is asked about each viewer.' },
];
const FIELDS = ['playbackPolicy.webhookId', 'playbackPolicy.allowedOrigins'];

/** The card for the playback policy of a stream. */
export function Policy({ stream, forbidden, onStream }: Props) {
  const [isEdited, setEdited] = useState(false);
  const { type = 'public', allowedOrigins = [] } = stream.playbackPolicy ?? {};
  const { name, meaning } = POLICIES.find(({ id }) => id === type)!;
  return (
    <Card
      title="Who may watch"
      actions={
        <Button small icon="edit" forbidden={forbidden} onPress={() => setEdited(true)}>
          Change
        </Button>
      }
    >
      <dl class="facts">
        <dt>Viewers</dt>
        <dd>
          <strong>{name}</strong>
          <br />
          <span class="soft">{meaning}</span>
        </dd>
        <dt>Pages</dt>
        <dd>
          {allowedOrigins.length === 0 ? (
            <span class="soft">Every page may embed the player.</span>
          ) : (
            allowedOrigins.map((origin) => (
              <div key={origin} dir="ltr">
                {origin}
              </div>
            ))
          )}
        </dd>
      </dl>
      {isEdited && <Editor stream={stream} onStream={onStream} onClose={() => setEdited(false)} />}
    </Card>
  );
}

function Editor({ stream, onStream, onClose }: Omit<Props, 'forbidden'> & { readonly onClose: () => void }) {
  const [type, setType] = useState<PlaybackPolicy['type']>(stream.playbackPolicy?.type ?? 'public');
  const [webhookId, setWebhookId] = useState(stream.playbackPolicy?.webhookId ?? '');
  const [origins, setOrigins] = useState((stream.playbackPolicy?.allowedOrigins ?? []).join(' '));
  const webhooks = useData('policy webhooks', (signal) =>
    list<{ id: string; name: string }>('/webhook?limit=1000', { signal }),
  );
  const sent = ['PATCH', `/stream/${stream.id}`, { playbackPolicy: edited() }] as const;
  const form = useForm(async () => {
    await change(...sent);
    onStream({ ...stream, ...sent[2] });
    toast('Saved. Viewers who may not watch any more are stopped within seconds.');
    onClose();
  });
  /** The policy as it stands in the form. */
  function edited() {
    const allowedOrigins = origins.split(/[\s,]+/).filter((each) => each !== '');
    const kept = type === 'webhook' ? stream.playbackPolicy : undefined;
    return {
      ...(kept?.webhookContext && { webhookContext: kept.webhookContext }),
      ...(kept?.refreshInterval && { refreshInterval: kept.refreshInterval }),
      type,
      ...(type === 'webhook' && { webhookId }),
      ...(allowedOrigins.length > 0 && { allowedOrigins }),
    };
  }
  return (
    <FormDialog title="Who may watch" form={form} fields={FIELDS} action="Save" changes={[sent]} onClose={onClose}>
      <Choices
        name="policy"
        legend="Viewers"
        isLegendShown={false}
        options={POLICIES}
        chosen={type}
        onChoose={({ id }) => setType(id)}
      />
      {type === 'webhook' && (
        <SelectField
          label="The webhook that is asked"
          value={webhookId}
          onValue={setWebhookId}
          error={form.errorOf('playbackPolicy.webhookId')}
          options={[['', 'Choose one'], ...optionsOf(webhooks.value?.rows ?? [], webhookId)]}
        />
      )}
      {type === 'webhook' && webhooks.error !== undefined && <Waiting data={webhooks} />}
      <TextField
        label="Pages that may embed the player"
        value={origins}
        onValue={setOrigins}
        placeholder="https://example.com"
        error={form.errorOf('playbackPolicy.allowedOrigins')}
        hint="Origins, separated by spaces. Leave it empty to allow every page."
      />
      <p class="hint">
        <a href={`${ROOT.pathname}docs/playback-rights`} target="_blank" rel="noopener">
          How to sign tokens and how a webhook must answer
        </a>
      </p>
    </FormDialog>
  );
}

/** The webhooks to choose from. The chosen one is among them, even when the list lacks it. */
function optionsOf(webhooks: readonly { readonly id: string; readonly name: string }[], chosen: string) {
  const named = webhooks.map(({ id, name }) => [id, name] as const);
  return chosen === '' || webhooks.some(({ id }) => id === chosen) ? named : [...named, [chosen, chosen] as const];
}
