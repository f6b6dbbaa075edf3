/**
 * Commands that work on the store, whether a server is running or not: `millrace <command> <action> ...`.
 */
import type { Store } from '#store/store.ts';
import type { Command } from './command.ts';
import { openExistingStore } from './existing-store.ts';
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
      await using store = await openExistingStore();
      await work(store);
    },
  };
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
