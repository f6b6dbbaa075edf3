/**
 * `millrace users`: users, also while the server runs. It takes notice at the next request, and cuts publishers within a second.
 */
import { newUserId } from '#domain/ids.ts';
import type { User } from '#domain/user.ts';
import { systemClock } from '#lib/clock.ts';
import type { PageKey, Store } from '#store/store.ts';
import { EXIT, Exit } from './exit-code.ts';
import { operatorReceipt } from './receipt.ts';
import { checkedName, printTable, readArguments, type StoreAction, storeCommand } from './store-command.ts';

const COMMAND = 'millrace users';
const PAGE_LIMIT = 1000;

/** The subcommand. */
export const users = storeCommand({
  name: 'users',
  summary: 'Create, list, suspend and promote users',
  usage: `  millrace users create NAME [--admin]   make a user; give it a key with millrace keys create
  millrace users list                    every user
  millrace users suspend NAME            its keys are refused and its publishers cut
  millrace users resume NAME             they are let in again
  millrace users promote NAME            makes it an admin
  millrace users demote NAME             it is one no more; one active admin must be left`,
  actions: {
    create: (args) => {
      const { values, positionals } = readArguments(args, { flags: ['admin'], positionals: 1 }, COMMAND);
      const name = checkedName(positionals[0], 'NAME', COMMAND);
      return (store) => create(store, name, values.admin === true);
    },
    list: (args) => {
      readArguments(args, {}, COMMAND);
      return list;
    },
    suspend: changing({ suspended: true }, 'suspended'),
    resume: changing({ suspended: false }, 'active'),
    promote: changing({ isAdmin: true }, 'an admin'),
    demote: changing({ isAdmin: false }, 'no admin'),
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
  let after: PageKey | undefined;
  do {
    const page = await store.users.list({ limit: PAGE_LIMIT, after });
    for (const { id, name, createdAt, isAdmin, suspended } of page.rows) {
      const created = new Date(createdAt).toISOString();
      rows.push([id, name, created, isAdmin ? 'admin' : 'user', suspended ? 'suspended' : 'active']);
    }
    after = page.next;
  } while (after);
  printTable(['ID', 'NAME', 'CREATED', 'ROLE', 'STATE'], rows);
}

/** The action that makes one change. @param outcome completes "The user NAME is ..." */
function changing(
  change: { readonly suspended: boolean } | { readonly isAdmin: boolean },
  outcome: string,
): StoreAction {
  // As the interface names it.
  const fields = ['suspended' in change ? 'suspended' : 'admin'];
  return (args) => {
    const [name] = readArguments(args, { positionals: 1 }, COMMAND).positionals;
    return async (store) => {
      const user = await store.users.byName(name!);
      const at = systemClock.now();
      const receipt = user && operatorReceipt(at, { action: 'user.updated', resourceId: user.id, fields });
      if (!receipt || !(await store.users.change(user.id, change, receipt))) {
        throw new Exit(EXIT.failed, ['There is no user of that name; see millrace users list.']);
      }
      console.log(`The user ${user.name} is ${outcome} now.`);
    };
  };
}
