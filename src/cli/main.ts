/**
 * The command line: `millrace <command>`. Run by `bin/millrace.js`.
 */
import { ConfigError } from '#config.ts';
import { MillraceError } from '#domain/errors.ts';
import { nearestWord } from '#lib/nearest-word.ts';
import { version } from '#lib/version.ts';
import { StoreOpenError } from '#store/open-error.ts';
import { COMMANDS } from './commands.ts';
import { EXIT, Exit, wrongUsage } from './exit-code.ts';

process.exitCode = await main(process.argv.slice(2));

/** Runs a command line. @returns the exit code */
async function main([name, ...args]: readonly string[]): Promise<number> {
  try {
    if (name === 'help') return await main([...args.slice(0, 1), '--help']);
    const command = COMMANDS.find((each) => each.name === name);
    if (command && args.some((each) => each === '--help' || each === '-h')) {
      console.log(command.help());
    } else if (command) {
      await command.run(args);
    } else if (name === undefined || name === '--help' || name === '-h') {
      console.log(help());
    } else if (name === '--version' || name === '-v') {
      console.log(`millrace ${version()}, Node ${process.versions.node}`);
    } else {
      const meant = nearestWord(
        name,
        COMMANDS.map((each) => each.name),
      );
      throw wrongUsage(`There is no such command${meant ? `; did you mean ${meant}?` : '.'}`, 'millrace');
    }
    return EXIT.ok;
  } catch (error) {
    const { exitCode, sentences } = toExit(error);
    for (const sentence of sentences) console.error(sentence);
    return exitCode;
  }
}

/** Converts an error to an exit code and sentences. An unexpected error is shown with its stack, which is needed to find its cause. */
function toExit(error: unknown): { readonly exitCode: number; readonly sentences: readonly unknown[] } {
  if (error instanceof Exit) return error;
  if (error instanceof ConfigError) return { exitCode: EXIT.usage, sentences: error.problems };
  if (error instanceof StoreOpenError) return { exitCode: EXIT.storeUnusable, sentences: [error.message] };
  if (error instanceof MillraceError) {
    const exitCode = error.code === 'store_unavailable' ? EXIT.storeUnusable : EXIT.failed;
    return { exitCode, sentences: [error.message] };
  }
  return { exitCode: EXIT.failed, sentences: [error] };
}

function help(): string {
  const width = Math.max(...COMMANDS.map((each) => each.name.length));
  const commands = COMMANDS.map((each) => `  ${each.name.padEnd(width)}  ${each.summary}`);
  return `millrace: live video streaming

Usage: millrace <command> [--help]
       millrace --version

${commands.join('\n')}

Exit codes: ${EXIT.ok} done, ${EXIT.failed} failed, ${EXIT.usage} wrong settings or arguments, ${EXIT.cannotListen} cannot listen on an address,
${EXIT.storeUnusable} the data folder or database cannot be used, 128 plus the signal's number when a second signal ended the server at once.`;
}
