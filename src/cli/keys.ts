/**
 * `millrace keys`: manages API keys, also while the server runs. A change takes effect with the next request.
 */
import { MillraceError } from '#domain/errors.ts';
import { newApiKeyId, newUserId } from '#domain/ids.ts';
import { newApiKeySecret } from '#domain/secret.ts';
import type { ApiKey } from '#domain/user.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import type { Store } from '#store/store.ts';
import { checkedName, readArguments } from './arguments.ts';
import { EXIT, Exit } from './exit-code.ts';
import { printLine } from './print-line.ts';
import { operatorReceipt } from './receipt.ts';
import { printTable, storeCommand } from './store-command.ts';

const COMMAND = 'millrace keys';

/** The access rules of `--read-only`: every request with GET. */
const READ_ONLY: ApiKey['access'] = { rules: [{ resources: ['*'], methods: ['get'] }] };

/** The subcommand. */
export const keys = storeCommand({
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  usage: `  millrace keys create --name NAME --user USER   create a key, and the user if there is none; print the secret once
                 [--read-only]                   allow the key to read, and nothing else
  millrace keys list                             list every key, revoked ones included, without the secrets
  millrace keys revoke ID|NAME                   revoke a key; it stops working with the next request`,
  actions: {
    create: (args) => {
      const { options, flags } = readArguments(args, { options: ['name', 'user'], flags: ['read-only'] }, COMMAND);
      const name = checkedName(options.name, '--name', COMMAND);
      const user = checkedName(options.user, '--user', COMMAND);
      const access = flags.has('read-only') ? READ_ONLY : undefined;
      return (store) => create(store, { name, user, access });
    },
    list: (args) => {
      readArguments(args, {}, COMMAND);
      return list;
    },
    revoke: (args) => {
      const [which] = readArguments(args, { positionals: 1 }, COMMAND).positionals;
      return (store) => revoke(store, which!);
    },
  },
});

interface Wanted {
  readonly name: string;
  readonly user: string;
  readonly access: ApiKey['access'];
}

async function create(store: Store, { name, user: userName, access }: Wanted): Promise<void> {
  const createdAt = systemClock.now();
  const user = await ensureUser(store, userName);
  const secret = newApiKeySecret();
  const key: ApiKey = {
    id: newApiKeyId(),
    userId: user.id,
    name,
    secretHash: secret.hash(),
    createdAt,
    revokedAt: undefined,
    access,
    lastSeen: ms(0),
  };
  try {
    await store.apiKeys.create(key, operatorReceipt(createdAt, { action: 'api_key.created', resourceId: key.id }));
  } catch (error) {
    if (!(error instanceof MillraceError && error.code === 'conflict')) throw error;
    throw new Exit(EXIT.failed, [
      `The user ${userName} already has a key named ${name}; revoke it or choose another name.`,
    ]);
  }
  await printLine(secret.reveal()).catch((error: unknown) => withdraw(store, key, error));
}

/** Revokes a new key whose secret could not be shown to anybody. @throws {Exit} always, with what happened */
async function withdraw(store: Store, { id, name }: ApiKey, cause: unknown): Promise<never> {
  const receipt = operatorReceipt(systemClock.now(), { action: 'api_key.deleted', resourceId: id });
  const isRevoked = await store.apiKeys.revoke(id, 'everyone', receipt).catch(() => false);
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = isRevoked ? 'so the key was revoked' : `and the key ${id} could not be revoked; revoke it later`;
  throw new Exit(EXIT.failed, [`The secret of the key ${name} could not be written (${why}), ${what}.`], { cause });
}

/** Finds the user with this name, or creates it with a receipt unless somebody else creates it at the same moment. */
async function ensureUser(store: Store, name: string) {
  const known = await store.users.byName(name);
  if (known) return known;
  const user = { id: newUserId(), name, createdAt: systemClock.now(), isAdmin: false, suspended: false, quotas: {} };
  try {
    await store.users.create(user, operatorReceipt(user.createdAt, { action: 'user.created', resourceId: user.id }));
    return user;
  } catch (error) {
    const other = await store.users.byName(name);
    if (other) return other;
    throw error;
  }
}

async function list(store: Store): Promise<void> {
  const time = (at: number) => new Date(at).toISOString();
  const rows = (await store.apiKeys.list()).map((key) => [
    key.id,
    key.userName,
    key.name,
    time(key.createdAt),
    key.access === undefined ? 'all' : `rules: ${key.access.rules.length}`,
    key.lastSeen === 0 ? 'never' : time(key.lastSeen),
    key.revokedAt === undefined ? 'active' : `revoked ${time(key.revokedAt)}`,
  ]);
  printTable(['ID', 'USER', 'NAME', 'CREATED', 'ACCESS', 'LAST USED', 'STATE'], rows);
}

async function revoke(store: Store, which: string): Promise<void> {
  const active = (await store.apiKeys.list()).filter((key) => key.revokedAt === undefined);
  const matches = active.filter((key) => key.id === which);
  if (matches.length === 0) matches.push(...active.filter((key) => key.name === which));
  const [key, second] = matches;
  if (second) {
    const ids = matches.map(({ id, userName }) => `  ${id} of ${userName}`);
    throw new Exit(EXIT.failed, ['Several users have an active key with this name; name one by its id:', ...ids]);
  }
  const receipt = key && operatorReceipt(systemClock.now(), { action: 'api_key.deleted', resourceId: key.id });
  if (!receipt || !(await store.apiKeys.revoke(key.id, 'everyone', receipt))) {
    throw new Exit(EXIT.failed, ['There is no active key with this id or name; see millrace keys list.']);
  }
  console.log(`Revoked the key ${key.name} (${key.id}) of ${key.userName}.`);
}
