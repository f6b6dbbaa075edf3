/**
 * `millrace keys`: API keys, also while the server runs. It takes notice at the next request.
 */
import { parseArgs } from 'node:util';
import { configFromEnvironment } from '#config.ts';
import { MillraceError } from '#domain/errors.ts';
import { newApiKeyId, newUserId } from '#domain/ids.ts';
import { newApiKeySecret } from '#domain/secret.ts';
import { systemClock } from '#lib/clock.ts';
import { ms } from '#lib/units.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import type { Command } from './command.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { operatorReceipt } from './receipt.ts';

/** Names stand in tables and in `createdByTokenName`. */
const NAME = /^[^\p{C}\s](?:[^\p{C}]{0,98}[^\p{C}\s])?$/u;

/** The subcommand. */
export const keys: Command = {
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  help: () => `Usage:
  millrace keys create --name NAME --user USER   make a key (and the user, when new) and print its secret, only this once
  millrace keys list                             every key, revoked ones included; never their secrets
  millrace keys revoke ID|NAME                   the key stops working with the next request

Works beside a running server. MILLRACE_DATA_DIR names the data folder, as for the server.`,
  run: async ([action, ...args]) => {
    const act = ACTIONS[action ?? ''];
    if (!act) throw wrongUsage('Say what to do: millrace keys create, list or revoke.', 'millrace keys');
    const work = act(args);
    const { dataDir } = configFromEnvironment().store;
    await using store = await openStore({ dataDir, exclusive: false, logger: silentLogger });
    await work(store);
  },
};

/** Each checks its arguments first, before the store is opened. */
const ACTIONS: Readonly<Record<string, (args: readonly string[]) => (store: Store) => Promise<void>>> = {
  create: (args) => {
    const { values } = parse(args, ['name', 'user'], 0);
    const name = checkedName(values.name, '--name');
    const user = checkedName(values.user, '--user');
    return (store) => create(store, name, user);
  },
  list: (args) => {
    parse(args, [], 0);
    return list;
  },
  revoke: (args) => {
    const [which] = parse(args, [], 1).positionals;
    return (store) => revoke(store, which!);
  },
};

async function create(store: Store, name: string, userName: string): Promise<void> {
  const createdAt = systemClock.now();
  const user = await store.users.ensure({
    id: newUserId(),
    name: userName,
    createdAt,
    isAdmin: false,
    suspended: false,
  });
  const secret = newApiKeySecret();
  const id = newApiKeyId();
  const receipt = operatorReceipt(createdAt, { action: 'api_key.created', resourceId: id });
  try {
    await store.apiKeys.create(
      {
        id,
        userId: user.id,
        name,
        secretHash: secret.hash(),
        createdAt,
        revokedAt: undefined,
        access: undefined,
        lastSeen: ms(0),
      },
      receipt,
    );
  } catch (error) {
    if (!(error instanceof MillraceError && error.code === 'conflict')) throw error;
    throw new Exit(EXIT.failed, [
      `The user ${userName} has a key named ${name} already; revoke it or choose another name.`,
    ]);
  }
  console.log(secret.reveal());
}

async function list(store: Store): Promise<void> {
  const rows = (await store.apiKeys.list()).map(({ id, userName, name, createdAt, revokedAt }) => [
    id,
    userName,
    name,
    new Date(createdAt).toISOString(),
    revokedAt === undefined ? 'active' : `revoked ${new Date(revokedAt).toISOString()}`,
  ]);
  const table = [['ID', 'USER', 'NAME', 'CREATED', 'STATE'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
}

async function revoke(store: Store, which: string): Promise<void> {
  const active = (await store.apiKeys.list()).filter((key) => key.revokedAt === undefined);
  const matches = active.filter((key) => key.id === which);
  if (matches.length === 0) matches.push(...active.filter((key) => key.name === which));
  const [key, second] = matches;
  if (second) {
    const ids = matches.map(({ id, userName }) => `  ${id} of ${userName}`);
    throw new Exit(EXIT.failed, ['Several users have an active key of that name; name one by its id:', ...ids]);
  }
  const receipt = key && operatorReceipt(systemClock.now(), { action: 'api_key.deleted', resourceId: key.id });
  if (!receipt || !(await store.apiKeys.revoke(key.id, 'everyone', receipt))) {
    throw new Exit(EXIT.failed, ['There is no active key of that id or name; see millrace keys list.']);
  }
  console.log(`Revoked the key ${key.name} (${key.id}) of ${key.userName}.`);
}

/** Takes `--name VALUE` for each of `options`, and exactly as many other arguments as said. */
function parse(args: readonly string[], options: readonly string[], positionals: number) {
  try {
    const config = Object.fromEntries(options.map((name) => [name, { type: 'string' } as const]));
    const parsed = parseArgs({ args: [...args], options: config, allowPositionals: true });
    if (parsed.positionals.length === positionals) return parsed;
  } catch {
    // The message of parseArgs may repeat what was typed, a key by mistake perhaps.
  }
  throw wrongUsage('These arguments do not fit.', 'millrace keys');
}

function checkedName(value: unknown, option: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value;
  throw wrongUsage(`${option} must be a name of 1 to 100 printable characters.`, 'millrace keys');
}
