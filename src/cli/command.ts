/**
 * The interface of a subcommand of `millrace`.
 */

/** One subcommand. To add one, write its file and name it in `commands.ts`. */
export interface Command {
  readonly name: string;
  /** One line of `millrace --help`. */
  readonly summary: string;
  /** Actions and options that may follow the command's name, for completion by shells. */
  readonly words?: readonly string[];
  /** Printed by `--help` after the command. Ends without a line break. */
  help(): string;
  /**
   * Runs the command, and resolves when it is done.
   * @param args what follows the command's name
   * @throws {Exit} when it cannot be done
   */
  run(args: readonly string[]): Promise<void>;
}
