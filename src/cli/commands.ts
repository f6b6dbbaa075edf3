/**
 * The subcommands of `millrace`.
 */
import { backup } from './backup.ts';
import type { Command } from './command.ts';
import { completionOf } from './completion.ts';
import { keys } from './keys.ts';
import { listen } from './listen.ts';
import { migrate } from './migrate.ts';
import { recordings } from './recordings.ts';
import { restore } from './restore.ts';
import { serve } from './serve.ts';
import { sign } from './sign.ts';
import { signIn } from './sign-in.ts';
import { users } from './users.ts';

const commands = [serve, signIn, keys, users, recordings, sign, migrate, backup, restore, listen];

/** In the order of the help. */
export const COMMANDS: readonly Command[] = [...commands, completionOf(commands)];
