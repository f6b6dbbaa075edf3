/**
 * Commands that work on the store, whether a server is running or not: `millrace <command> <action> ...`.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isName } from '#domain/name.ts';
import { openStore } from '#store/open-store.ts';
import type { Store } from '#store/store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import type { Command } from './command.ts';
import { existingStore } from './existing-store.ts';
import { wrongUsage } from './exit-code.ts';

/** Checks its arguments before the store is opened, and returns the work to do on the store. */
export type StoreAction = (args: readonly string[]) => (store: Store) => Promise<void>;

/** The definition of a command. */
export interface StoreCommand extends Pick<Command, 'name' | 'summary'> {
  /** The actions with their arguments, a line each. */
  readonly usage: string;
  /** Further words that shells complete, besides the actions and their options. */
  readonly words?: readonly string[];
  readonly actions: Readonly<Record<string, StoreAction>>;
}

/** Makes a command that runs one of its actions. */
export function storeCommand({ name, summary, usage, words = [], actions }: StoreCommand): Command {
  return {
    name,
    summary,
    words: [...Object.keys(actions), ...new Set(usage.match(/--[a-z-]+/g)), ...words],
    help: () => `Usage:
${usage}

The server may be running, and must have been started once. MILLRACE_DATA_DIR and MILLRACE_DATABASE_URL name the database, as for the server.`,
    run: async ([action, ...args]) => {
      const act = Object.hasOwn(actions, action ?? '') ? actions[action!] : undefined;
      const known = Object.keys(actions);
      if (!act) {
        throw wrongUsage(
          `Name an action: millrace ${name} ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`,
          `millrace ${name}`,
        );
      }
      const work = act(args);
      const { dataDir, databaseUrl } = await existingStore();
      await using store = await openStore({ dataDir, databaseUrl, exclusive: false, logger: silentLogger });
      await work(store);
    },
  };
}

/** The arguments of an action. */
export interface Arguments {
  /** Options with a value: `--name VALUE`. */
  readonly options?: readonly string[];
  /** Options without one: `--admin`. */
  readonly flags?: readonly string[];
  /** The exact number of other arguments, or the least where more may follow. */
  readonly positionals?: number;
  readonly moreMayFollow?: boolean;
}

/**
 * Reads arguments.
 * @throws {Exit} when they are not valid. Its sentence repeats none of them, since one may be a key typed in the wrong place
 */
export function readArguments(
  args: readonly string[],
  { options = [], flags = [], positionals = 0, moreMayFollow = false }: Arguments,
  command: string,
): { readonly values: Readonly<Record<string, unknown>>; readonly positionals: readonly string[] } {
  const config = Object.fromEntries([
    ...options.map((name) => [name, { type: 'string' } as const] as const),
    ...flags.map((name) => [name, { type: 'boolean' } as const] as const),
  ]);
  const parsed = parsedArguments({ args: [...args], options: config, allowPositionals: true }, command);
  const { length } = parsed.positionals;
  if (length < positionals) throw wrongUsage('An argument is missing.', command);
  if (length > positionals && !moreMayFollow) throw wrongUsage('There are too many arguments.', command);
  return parsed;
}

/** The message of parseArgs repeats what was typed, so its code alone is used. */
function parsedArguments<Config extends ParseArgsConfig>(config: Config, command: string) {
  try {
    return parseArgs(config);
  } catch (error) {
    const isUnknown = error instanceof TypeError && 'code' in error && error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION';
    throw wrongUsage(
      isUnknown ? 'There is no such option.' : 'An option lacks its value, or has one that it does not take.',
      command,
    );
  }
}

/** A name of a user or key. @throws {Exit} when it cannot be one */
export function checkedName(value: unknown, what: string, command: string): string {
  if (typeof value === 'string' && isName(value)) return value;
  throw wrongUsage(`${what} must be a name of 1 to 100 printable characters.`, command);
}

/** Prints rows below their headings. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const table = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column]!));
    console.log(cells.join('  ').trimEnd());
  }
}
