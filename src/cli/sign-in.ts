/**
 * `millrace sign-in`: makes a link that signs a browser in to the dashboard.
 */
import { parseArgs } from 'node:util';
import { configFromEnvironment } from '#config.ts';
import { systemClock } from '#lib/clock.ts';
import { openStore } from '#store/open-store.ts';
import { silentLogger } from '#telemetry/logger.ts';
import type { Command } from './command.ts';
import { existingStore } from './existing-store.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { FIRST_USER } from './first-key.ts';
import { printLine } from './print-line.ts';
import { createSignInLink } from './sign-in-link.ts';
import { checkedName } from './store-command.ts';

const COMMAND = 'millrace sign-in';

/** The subcommand. */
export const signIn: Command = {
  name: 'sign-in',
  summary: 'Make a link that signs a browser in to the dashboard',
  words: ['--user'],
  help: () => `Usage: millrace sign-in [--user NAME]

Prints a link that signs a browser in to the dashboard as the user NAME, by default ${FIRST_USER}. The link works once, within 15 minutes, and makes
older links of the user invalid. If browsers reach the server at another address, replace the part of the link before /dashboard.

The server may be running. Run the command with the same settings as the server.`,
  run: async (args) => {
    const name = readName(args);
    const { http } = configFromEnvironment();
    const { dataDir, databaseUrl } = await existingStore();
    await using store = await openStore({ dataDir, databaseUrl, exclusive: false, logger: silentLogger });
    const user = await store.users.byName(name);
    if (user === undefined) throw new Exit(EXIT.failed, ['There is no user with this name; see millrace users list.']);
    if (user.suspended) throw new Exit(EXIT.failed, ['This user is suspended; see millrace users resume.']);
    const base = { publicUrl: http.publicUrl, port: http.port, isSecure: http.tlsCert !== undefined };
    const link = await createSignInLink({ store, clock: systemClock, base }, user.id);
    await printLine(link).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Exit(EXIT.failed, [`The link could not be written (${why}); run the command again.`], { cause });
    });
  },
};

function readName(args: readonly string[]): string {
  try {
    const { values } = parseArgs({ args: [...args], options: { user: { type: 'string', default: FIRST_USER } } });
    return checkedName(values.user, 'NAME', COMMAND);
  } catch {
    throw wrongUsage('The only argument is --user NAME, with a name of 1 to 100 printable characters.', COMMAND);
  }
}
