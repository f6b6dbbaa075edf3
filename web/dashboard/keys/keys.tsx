/**
 * What opens the API: API keys, signing keys, and the browsers that are signed in.
 */
import { useState } from 'preact/hooks';
import { change, list } from '../../shared/api.ts';
import { changeEach } from '../../shared/change-each.ts';
import { usePages } from '../../shared/data.ts';
import { signedIn, signOut } from '../../shared/session.ts';
import type { ApiToken, BrowserSession, CreatedApiToken, CreatedSigningKey, SigningKey } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Choices } from '../../shared/ui/choice.tsx';
import { CopyCurl, CopyField, changeNow, toastDone } from '../../shared/ui/copy.tsx';
import { Confirm, Dialog, DialogActions, FormDialog } from '../../shared/ui/dialog.tsx';
import { TextField, useForm } from '../../shared/ui/form.tsx';
import { ListCard } from '../../shared/ui/list.tsx';
import { Ago, Badge, Empty, Message, PageHead } from '../../shared/ui/parts.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import { PRESETS, ruleWords } from './rule-words.ts';

/** The page. */
export function Keys() {
  return (
    <>
      <PageHead title="Keys">
        Programs use API keys. Tokens for viewers are signed with signing keys. You are signed in with a browser
        session.
      </PageHead>
      <ApiKeys />
      <SigningKeys />
      <Browsers />
    </>
  );
}

function ApiKeys() {
  const keys = usePages<ApiToken>('/api-token?limit=50');
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<ApiToken | undefined>();
  const own = signedIn.value?.key?.id;
  return (
    <ListCard
      title="API keys"
      actions={
        <Button small icon="plus" onPress={() => setCreating(true)}>
          Create a key
        </Button>
      }
      data={keys}
      empty={
        <Empty icon="key" title="No API key">
          A program needs one to create streams or read their state.
        </Empty>
      }
      caption="API keys"
      columns={[
        {
          name: 'Name',
          cell: ({ id, name }) => (
            <>
              <bdi class="strong">{name}</bdi> {id === own && <Badge tone="ok">signed in with it</Badge>}
            </>
          ),
        },
        { name: 'May do', cell: ({ access }) => ruleWords(access?.rules) },
        { name: 'Last used', kind: 'soft', cell: ({ lastSeen }) => <Ago at={lastSeen} /> },
        { name: 'Created', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
        {
          name: 'Actions',
          kind: 'actions',
          cell: (key) => (
            <Button small kind="quiet" onPress={() => setRevoked(key)}>
              Revoke
            </Button>
          ),
        },
      ]}
    >
      {isCreating && <NewKey onDone={keys.reload} onClose={() => setCreating(false)} />}
      {revoked && (
        <Confirm
          title={`Revoke “${revoked.name}”?`}
          action="Revoke the key"
          onClose={() => setRevoked(undefined)}
          changes={[['DELETE', `/api-token/${revoked.id}`]]}
          onDone={() => {
            toast('The key is revoked.');
            keys.reload();
          }}
        >
          <p>
            Programs that use it are refused from their next request on.
            {revoked.id === own && ' You are signed in with this key, and are signed out as well.'}
          </p>
        </Confirm>
      )}
    </ListCard>
  );
}

function NewKey({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [preset, setPreset] = useState(PRESETS[0]!);
  const [created, setCreated] = useState<CreatedApiToken | undefined>();
  const body = { ...(name !== '' && { name }), ...(preset.rules && { access: { rules: preset.rules } }) };
  const sent = ['POST', '/api-token', body] as const;
  const form = useForm(async () => {
    setCreated(await change<CreatedApiToken>(...sent));
    onDone();
  });
  if (created !== undefined) {
    return (
      <Dialog title="The new API key" onClose={onClose}>
        <Message tone="warn" title="Copy it now">
          It is shown only this once. The server keeps no copy that it could show again.
        </Message>
        <CopyField name="API key" value={created.key} secret />
        <DialogActions>
          <Button kind="primary" onPress={onClose}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Create an API key"
      form={form}
      fields={['name']}
      action="Create"
      changes={[sent]}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        placeholder="Where it will be used"
        maxLength={100}
        autoFocus
        error={form.errorOf('name')}
      />
      <Choices name="preset" legend="What it may do" options={PRESETS} chosen={preset.id} onChoose={setPreset} />
    </FormDialog>
  );
}

const NEW_SIGNING_KEY = ['POST', '/access-control/signing-key', {}] as const;

function SigningKeys() {
  const keys = usePages<SigningKey>('/access-control/signing-key?limit=50');
  const [created, setCreated] = useState<CreatedSigningKey | undefined>();
  const [deleted, setDeleted] = useState<SigningKey | undefined>();
  const create = async () => {
    setCreated(await change<CreatedSigningKey>(...NEW_SIGNING_KEY));
    keys.reload();
  };
  const toggle = async ({ id, disabled }: SigningKey) => {
    const done = disabled ? 'Its tokens are accepted again.' : 'Its tokens are refused now.';
    await changeNow(done, 'PATCH', `/access-control/signing-key/${id}`, { disabled: !disabled });
    keys.reload();
  };
  return (
    <ListCard
      title="Signing keys"
      note="Your server signs a token for each viewer of a stream that is not public."
      actions={
        <Button small icon="plus" onPress={create}>
          Create a key
        </Button>
      }
      data={keys}
      empty={
        <Empty icon="key" title="No signing key">
          You need one for streams that only viewers with a token may watch.
        </Empty>
      }
      caption="Signing keys"
      columns={[
        { name: 'Name', cell: ({ name }) => <bdi class="strong">{name}</bdi> },
        {
          name: 'State',
          cell: ({ disabled }) => (disabled ? <Badge tone="warn">Disabled</Badge> : <Badge tone="ok">Accepted</Badge>),
        },
        { name: 'Created', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
        {
          name: 'Actions',
          kind: 'actions',
          cell: (key) => (
            <>
              <Button small kind="quiet" onPress={() => toggle(key)}>
                {key.disabled ? 'Enable' : 'Disable'}
              </Button>
              <Button small kind="quiet" onPress={() => setDeleted(key)}>
                Delete
              </Button>
            </>
          ),
        },
      ]}
    >
      {created && (
        <Dialog title="The new signing key" onClose={() => setCreated(undefined)}>
          <Message tone="warn" title="Copy the private key now">
            It is shown only this once. Keep it on the server that signs the tokens of your viewers.
          </Message>
          <CopyField name="Private key" value={created.privateKey} secret hint="Base64 of a PEM file (PKCS #8)." />
          <CopyField name="Public key" value={created.publicKey} />
          <CopyField name="Id" value={created.id} hint="Tokens can name it as kid in their header." />
          <DialogActions>
            <CopyCurl changes={[NEW_SIGNING_KEY]} />
            <Button kind="primary" onPress={() => setCreated(undefined)}>
              Done
            </Button>
          </DialogActions>
        </Dialog>
      )}
      {deleted && (
        <Confirm
          title={`Delete “${deleted.name}”?`}
          action="Delete the key"
          onClose={() => setDeleted(undefined)}
          changes={[['DELETE', `/access-control/signing-key/${deleted.id}`]]}
          onDone={() => {
            toast('The signing key is deleted.');
            keys.reload();
          }}
        >
          <p>Viewers with tokens that were signed with it are stopped within seconds.</p>
        </Confirm>
      )}
    </ListCard>
  );
}

function Browsers() {
  const sessions = usePages<BrowserSession>('/browser-session?limit=50');
  const rows = sessions.value ?? [];
  const end = async ({ id, isCurrent }: BrowserSession) => {
    if (isCurrent) {
      await signOut();
      return;
    }
    await changeNow('That browser is signed out.', 'DELETE', `/browser-session/${id}`);
    sessions.reload();
  };
  const endOthers = async () => {
    const all = await list<BrowserSession>('/browser-session?limit=1000');
    const others = all.rows.filter(({ isCurrent }) => !isCurrent);
    const sent = others.map(({ id }) => ['DELETE', `/browser-session/${id}`] as const);
    // A session that has ended in the meantime also counts as signed out.
    const { error } = await changeEach(sent, (each) => change(...each));
    if (error !== undefined) throw error;
    toastDone('All other browsers are signed out.', ...sent);
    sessions.reload();
  };
  return (
    <ListCard
      title="Browsers that are signed in"
      actions={
        rows.length > 1 && (
          <Button small icon="door" onPress={endOthers}>
            Sign out all others
          </Button>
        )
      }
      data={sessions}
      empty={<Empty icon="door" title="No browser is signed in" />}
      caption="Browser sessions"
      columns={[
        {
          name: 'Address',
          cell: ({ address, isCurrent }) => (
            <>
              <span class="strong">{address}</span> {isCurrent && <Badge tone="ok">this browser</Badge>}
            </>
          ),
        },
        {
          name: 'Signed in with',
          cell: ({ tokenId }) => (tokenId === undefined ? 'a sign-in link' : 'an API key'),
        },
        { name: 'Since', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
        { name: 'Last used', kind: 'soft', cell: ({ lastSeen }) => <Ago at={lastSeen} /> },
        {
          name: 'Actions',
          kind: 'actions',
          cell: (session) => (
            <Button small kind="quiet" onPress={() => end(session)}>
              Sign out
            </Button>
          ),
        },
      ]}
    />
  );
}
