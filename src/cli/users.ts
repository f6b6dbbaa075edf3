/**
 * `millrace users`: manages users, also while the server runs. A change takes effect with the next request. The publishers of a suspended
 * user are disconnected within a second.
 */
import { configFromEnvironment } from '#config.ts';
import { newUserId } from '#domain/ids.ts';
import { QUOTA_NAMES, type QuotaChange, quotasOf } from '#domain/quotas.ts';
import type { User } from '#domain/user.ts';
import { systemClock } from '#lib/clock.ts';
import type { Store, UserChange } from '#store/store.ts';
import { checkedName, readArguments } from './arguments.ts';
import { everyRow } from './every-row.ts';
import { EXIT, Exit } from './exit-code.ts';
import { quotaChangeOf } from './quota-arguments.ts';
import { operatorReceipt } from './receipt.ts';
import { printTable, type StoreAction, storeCommand } from './store-command.ts';

const COMMAND = 'millrace users';

/** The subcommand. */
export const users = storeCommand({
  name: 'users',
  summary: 'Create, list, suspend and promote users, and change their quotas',
  usage: `  millrace users create NAME [--admin]   create a user; give it a key with millrace keys create
  millrace users list                    list every user
  millrace users suspend NAME            refuse its keys and disconnect its publishers
  millrace users resume NAME             accept them again
  millrace users promote NAME            make it an admin
  millrace users demote NAME             make it an ordinary user; one active admin must remain
  millrace users quota NAME              show its quotas; defaults are taken from MILLRACE_QUOTA_* in this shell
  millrace users quota NAME QUOTA=VALUE  change one or several quotas: VALUE is a number, 0 for no limit, or default`,
  words: QUOTA_NAMES,
  actions: {
    create: (args) => {
      const { flags, positionals } = readArguments(args, { flags: ['admin'], positionals: 1 }, COMMAND);
      const name = checkedName(positionals[0], 'NAME', COMMAND);
      return (store) => create(store, name, flags.has('admin'));
    },
    list: (args) => {
      readArguments(args, {}, COMMAND);
      return list;
    },
    suspend: changing({ suspended: true }, 'suspended'),
    resume: changing({ suspended: false }, 'active'),
    promote: changing({ isAdmin: true }, 'an admin'),
    demote: changing({ isAdmin: false }, 'an ordinary user'),
    quota: quotaAction,
  },
});

async function create(store: Store, name: string, isAdmin: boolean): Promise<void> {
  const user: User = { id: newUserId(), name, createdAt: systemClock.now(), isAdmin, suspended: false, quotas: {} };
  const receipt = operatorReceipt(user.createdAt, { action: 'user.created', resourceId: user.id });
  await store.users.create(user, receipt);
  console.log(`Created the user ${name} (${user.id}).`);
}

async function list(store: Store): Promise<void> {
  const rows: string[][] = [];
  for await (const { id, name, createdAt, isAdmin, suspended } of everyRow((page) => store.users.list(page))) {
    const created = new Date(createdAt).toISOString();
    rows.push([id, name, created, isAdmin ? 'admin' : 'user', suspended ? 'suspended' : 'active']);
  }
  printTable(['ID', 'NAME', 'CREATED', 'ROLE', 'STATE'], rows);
}

function quotaAction(args: readonly string[]): (store: Store) => Promise<void> {
  const { positionals } = readArguments(args, { positionals: 1, moreMayFollow: true }, COMMAND);
  const [name, ...changes] = positionals;
  const quotas = quotaChangeOf(changes, COMMAND);
  return async (store) => {
    if (changes.length > 0) await changeUser(store, name!, { quotas }, changedQuotas(quotas));
    printQuotas(await userNamed(store, name!));
  };
}

const changedQuotas = (quotas: QuotaChange) => Object.keys(quotas).map((quota) => `quotas.${quota}`);

function printQuotas(user: User): void {
  const quotas = quotasOf(user, configFromEnvironment().quotas);
  const rows = QUOTA_NAMES.map((name) => [
    name,
    quotas[name] === 0 ? 'no limit' : String(quotas[name]),
    user.quotas[name] === undefined ? 'default' : 'set',
  ]);
  printTable(['QUOTA', 'VALUE', 'FROM'], rows);
}

/** Makes an action that changes a user. @param outcome completes "The user NAME is ..." */
function changing(
  change: { readonly suspended: boolean } | { readonly isAdmin: boolean },
  outcome: string,
): StoreAction {
  // The field's name in the API.
  const fields = ['suspended' in change ? 'suspended' : 'admin'];
  return (args) => {
    const [name] = readArguments(args, { positionals: 1 }, COMMAND).positionals;
    return async (store) => {
      const user = await changeUser(store, name!, change, fields);
      console.log(`The user ${user.name} is ${outcome} now.`);
    };
  };
}

/** Changes a user. @returns the user before the change @throws {Exit} when no user has this name */
async function changeUser(store: Store, name: string, change: UserChange, fields: readonly string[]): Promise<User> {
  const user = await userNamed(store, name);
  const receipt = operatorReceipt(systemClock.now(), { action: 'user.updated', resourceId: user.id, fields });
  if (!(await store.users.change(user.id, change, receipt))) throw unknownUser();
  return user;
}

async function userNamed(store: Store, name: string): Promise<User> {
  const user = await store.users.byName(name);
  if (user === undefined) throw unknownUser();
  return user;
}

const unknownUser = () => new Exit(EXIT.failed, ['There is no user with this name; see millrace users list.']);
