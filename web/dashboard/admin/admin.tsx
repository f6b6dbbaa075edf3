/**
 * The service for its admins: its state, its servers, users with their quotas, and the audit log.
 */
import { useState } from 'preact/hooks';
import { change, get } from '../../shared/api.ts';
import { quoted } from '../../shared/curl.ts';
import { useData, usePages } from '../../shared/data.ts';
import { ago, dateTime } from '../../shared/format.ts';
import { serverNow } from '../../shared/server-clock.ts';
import { signedIn } from '../../shared/session.ts';
import type { AuditEntry, User } from '../../shared/types.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CopyField, changeNow } from '../../shared/ui/copy.tsx';
import { Confirm, Dialog, DialogActions, DialogForm, FormDialog } from '../../shared/ui/dialog.tsx';
import { CheckField, NameField, TextField, useForm } from '../../shared/ui/form.tsx';
import { ListCard, Waiting } from '../../shared/ui/list.tsx';
import { Menu } from '../../shared/ui/menu.tsx';
import { Ago, Badge, Empty, PageHead } from '../../shared/ui/parts.tsx';
import type { Column } from '../../shared/ui/table.tsx';
import { toast } from '../../shared/ui/toast.tsx';
import { actionWords } from './action-words.ts';
import { Attempts } from './attempts.tsx';
import { Doctor } from './doctor.tsx';
import { QUOTA_WORDS } from './quota-words.ts';
import { Servers } from './servers.tsx';

/** The page for admins. */
export function Admin() {
  return (
    <>
      <PageHead title="Admin">
        How the service is set up, users and their quotas, encoders that were refused, and who changed what.
      </PageHead>
      <Doctor />
      <Servers />
      <Users />
      <Attempts />
      <Audit />
    </>
  );
}

function Users() {
  const users = usePages<User>('/user?limit=50');
  const [isCreating, setCreating] = useState(false);
  const [edited, setEdited] = useState<User | undefined>();
  const [suspended, setSuspended] = useState<User | undefined>();
  const update = async (user: User, body: object, done: string) => {
    await changeNow(done, 'PATCH', `/user/${user.id}`, body);
    users.reload();
  };
  const actions = (user: User) => (
    <Menu
      label={`Actions for ${user.name}`}
      items={[
        { name: 'Quotas', icon: 'chart', run: () => setEdited(user) },
        user.admin
          ? {
              name: 'Make an ordinary user',
              icon: 'admin',
              run: () => update(user, { admin: false }, `${user.name} is an ordinary user now.`),
            }
          : {
              name: 'Make an admin',
              icon: 'admin',
              run: () => update(user, { admin: true }, `${user.name} is an admin now.`),
            },
        user.suspended
          ? {
              name: 'Resume',
              icon: 'play',
              run: () => update(user, { suspended: false }, `${user.name} may use the service again.`),
            }
          : { name: 'Suspend', icon: 'pause', danger: true, run: () => setSuspended(user) },
      ]}
    />
  );
  return (
    <ListCard
      title="Users"
      actions={
        <Button small icon="plus" onPress={() => setCreating(true)}>
          Create a user
        </Button>
      }
      data={users}
      caption="Users"
      columns={[
        {
          name: 'Name',
          cell: ({ id, name }) => (
            <>
              <bdi class="strong">{name}</bdi> {id === signedIn.value?.user.id && <Badge tone="ok">you</Badge>}
            </>
          ),
        },
        { name: 'Role', cell: ({ admin }) => (admin ? 'Admin' : 'User') },
        {
          name: 'State',
          cell: ({ suspended }) => (suspended ? <Badge tone="bad">Suspended</Badge> : <Badge tone="ok">Active</Badge>),
        },
        { name: 'Created', kind: 'soft', cell: ({ createdAt }) => <Ago at={createdAt} /> },
        { name: 'Actions', kind: 'actions', cell: actions },
      ]}
    >
      {isCreating && <NewUser onDone={users.reload} onClose={() => setCreating(false)} />}
      {edited && <Quotas id={edited.id} name={edited.name} onClose={() => setEdited(undefined)} />}
      {suspended && (
        <Confirm
          title={`Suspend ${suspended.name}?`}
          action="Suspend the user"
          onClose={() => setSuspended(undefined)}
          changes={[['PATCH', `/user/${suspended.id}`, { suspended: true }]]}
          onDone={() => {
            toast(`${suspended.name} is suspended.`);
            users.reload();
          }}
        >
          <p>
            The user’s keys and browsers are refused, encoders are disconnected, and viewers cannot watch, until you
            resume the user.
          </p>
        </Confirm>
      )}
    </ListCard>
  );
}

function NewUser({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [admin, setAdmin] = useState(false);
  const [isCreated, setCreated] = useState(false);
  const sent = ['POST', '/user', { name, ...(admin && { admin }) }] as const;
  const form = useForm(async () => {
    await change(...sent);
    setCreated(true);
    onDone();
  });
  if (isCreated) {
    return (
      <Dialog title={`The user ${name} exists`} onClose={onClose}>
        <CopyField
          name="Command"
          value={`npx millrace sign-in --user ${quoted(name)}`}
          hint="Run it on the server. It prints a link that signs the user in."
        />
        <DialogActions>
          <Button kind="primary" onPress={onClose}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <FormDialog title="Create a user" form={form} fields={['name']} action="Create" changes={[sent]} onClose={onClose}>
      <NameField form={form} value={name} onValue={setName} maxLength={100} />
      <CheckField
        label="Admin"
        checked={admin}
        onValue={setAdmin}
        hint="Manages users, reads the audit log, and does what any owner may."
      />
    </FormDialog>
  );
}

function Quotas({ id, name, onClose }: { readonly id: string; readonly name: string; readonly onClose: () => void }) {
  const user = useData(`quotas ${id}`, (signal) => get<User>(`/user/${id}`, { signal }));
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const quotas = Object.fromEntries(
    Object.entries(typed).map(([quota, text]) => [quota, text === '' ? null : Number(text)]),
  );
  const sent = ['PATCH', `/user/${id}`, { quotas }] as const;
  const form = useForm(async () => {
    await change(...sent);
    toast(`The quotas of ${name} are saved.`);
    onClose();
  });
  const { value } = user;
  return (
    <Dialog title={`Quotas of ${name}`} wide isBusy={form.isBusy} onClose={onClose}>
      {value === undefined ? (
        <Waiting data={user} lines={8} />
      ) : (
        <DialogForm
          form={form}
          fields={Object.keys(value.quotas).map((quota) => `quotas.${quota}`)}
          action="Save"
          forbidden={Object.keys(typed).length === 0 ? 'Change a quota first.' : undefined}
          changes={[sent]}
          onClose={onClose}
        >
          <p class="hint">0 means no limit. An emptied field gets the default of the server again.</p>
          <div class="quotas">
            {Object.entries(value.quotas).map(([quota, limit]) => {
              const used = (value.usage as Readonly<Record<string, number>> | undefined)?.[quota];
              return (
                <TextField
                  key={quota}
                  type="number"
                  label={QUOTA_WORDS[quota] ?? quota}
                  value={typed[quota] ?? String(limit)}
                  onValue={(text) => setTyped({ ...typed, [quota]: text })}
                  error={form.errorOf(`quotas.${quota}`)}
                  hint={used === undefined ? undefined : `${used.toLocaleString('en-GB')} in use`}
                />
              );
            })}
          </div>
        </DialogForm>
      )}
    </Dialog>
  );
}

function Audit() {
  const entries = usePages<AuditEntry>('/audit?limit=50');
  return (
    <ListCard
      title="Who changed what"
      data={entries}
      empty={<Empty icon="history" title="No change yet" />}
      caption="Audit log"
      columns={AUDIT_COLUMNS}
    />
  );
}

const AUDIT_COLUMNS: readonly Column<AuditEntry>[] = [
  {
    name: 'When',
    kind: 'soft',
    cell: ({ createdAt }) => <span title={dateTime(createdAt)}>{ago(createdAt, serverNow())}</span>,
  },
  {
    name: 'What',
    cell: ({ action, fields }) => (
      <>
        {actionWords(action)}
        {fields.length > 0 && <span class="soft">: {fields.join(', ')}</span>}
      </>
    ),
  },
  {
    name: 'With',
    cell: ({ actor }) => (actor ? <bdi>{actor.tokenName}</bdi> : <span class="soft">the command line</span>),
  },
  { name: 'From', kind: 'soft', cell: ({ address }) => address ?? '–' },
  { name: 'Id', cell: ({ resourceId }) => <code class="small">{resourceId}</code> },
];
