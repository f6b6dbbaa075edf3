/**
 * `millrace sign-in`: makes a link that signs a browser in to the dashboard.
 */
import { configFromEnvironment } from '#config.ts';
import { isName } from '#domain/name.ts';
import { systemClock } from '#lib/clock.ts';
import { readSimpleArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { openExistingStore } from './existing-store.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';
import { FIRST_USER } from './first-key.ts';
import { printLine } from './print-line.ts';
import { createSignInLink } from './sign-in-link.ts';

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
    await using store = await openExistingStore();
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
  const sentence = 'The only argument is --user NAME, with a name of 1 to 100 printable characters.';
  const { user = FIRST_USER } = readSimpleArguments(args, { options: ['user'] }, sentence, COMMAND).options;
  if (isName(user)) return user;
  throw wrongUsage(sentence, COMMAND);
}
