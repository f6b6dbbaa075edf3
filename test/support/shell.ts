/**
 * A shell that runs commands as a person types them, with servers on free ports of the loopback interface.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { waitFor } from './wait-for.ts';

/** How to run a shell. */
export interface ShellOptions {
  readonly cwd: string;
  /** Its `PATH`. */
  readonly path: string;
  /** Further environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A running shell. */
export interface Shell {
  readonly child: ChildProcess;
  /** The output and the exit code, once the shell has ended. */
  readonly ended: Promise<{ readonly stdout: string; readonly stderr: string; readonly code: number | null }>;
  /** Sends a signal to the shell and to everything that it runs, as a terminal does. Waits until all have ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts bash, which stops at the first command that fails. */
export function startShell(commands: string, { cwd, path, environment = {} }: ShellOptions): Shell {
  const { HOME, NODE_EXTRA_CA_CERTS } = process.env;
  const child = spawn('bash', ['-eu', '-o', 'pipefail', '-c', commands], {
    cwd,
    env: {
      PATH: path,
      HOME,
      NODE_EXTRA_CA_CERTS,
      MILLRACE_HTTP_HOST: '127.0.0.1',
      MILLRACE_HTTP_PORT: '0',
      MILLRACE_RTMP_HOST: '127.0.0.1',
      MILLRACE_RTMP_PORT: '0',
      MILLRACE_RTMPS_PORT: '0',
      MILLRACE_METRICS_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number | null }),
  );
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
    await ended;
  };
  return { child, ended, end };
}

/**
 * Runs commands that start a server until it says that it is ready, then stops it.
 * @returns what was printed
 * @throws {Error} with what was printed, when the commands end before
 */
export function runUntilReady(commands: string, options: ShellOptions & { readonly timeoutMs?: number }) {
  return runUntilPrinted('"msg":"ready"', commands, options);
}

/**
 * Runs commands until they have printed a text, then stops them as `SIGTERM` does.
 * @param options.timeoutMs the longest wait for the text, which includes steps before it, such as an installation
 * @returns what was printed
 * @throws {Error} with what was printed, when the commands end before
 */
export async function runUntilPrinted(
  printed: string,
  commands: string,
  { timeoutMs, ...options }: ShellOptions & { readonly timeoutMs?: number },
) {
  const shell = startShell(commands, options);
  let seen = '';
  shell.child.stdout?.on('data', (chunk) => {
    seen += chunk;
  });
  const hasPrinted = async () => {
    if (shell.child.exitCode !== null) throw new Error(`it ended: ${seen}${(await shell.ended).stderr}`);
    return seen.includes(printed);
  };
  try {
    await waitFor(hasPrinted, { what: `${printed} to be printed`, ...(timeoutMs !== undefined && { timeoutMs }) });
  } finally {
    await shell.end('SIGTERM');
  }
  return await shell.ended;
}
