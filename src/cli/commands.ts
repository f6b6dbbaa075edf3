/**
 * The subcommands of `millrace`.
 */
import type { Command } from './command.ts';
import { keys } from './keys.ts';
import { serve } from './serve.ts';

/** In the order of the help. */
export const COMMANDS: readonly Command[] = [serve, keys];
