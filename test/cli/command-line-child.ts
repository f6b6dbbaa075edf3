/**
 * A process that runs command lines of `millrace` one after the other, as its messages say, and answers with what each printed and its exit
 * code. Started by `command-line.ts`.
 */
import { waitFor } from '../support/wait-for.ts';
import type { CommandLine, CommandLineEnd } from './command-line.ts';

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).href;
let count = 0;

process.on('message', (commandLine: CommandLine) => void run(commandLine));

async function run({ args, environment }: CommandLine): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array, ...rest: readonly unknown[]) => {
      printed[name] += text.toString();
      const written = rest.at(-1);
      if (typeof written === 'function') written();
      return true;
    };
  }
  count += 1;
  // The module runs the command line when it is loaded, and another query loads it again.
  await import(`${MAIN}?${count}`);
  // A process of its own would not end while anything but the channel to the test is open.
  await waitFor(() => openResources().length === 0, { what: 'the command to close', timeoutMs: 60_000 });
  const code = Number(process.exitCode);
  process.exitCode = undefined;
  process.send!({ code, ...printed } satisfies CommandLineEnd);
}

/** What keeps a process running, besides the channel to the test and the timer of the wait itself. */
function openResources(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap');
}
