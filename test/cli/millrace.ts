/**
 * Runs the command line as a person does, through its launcher, on a data folder of the test's own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { putEmptyStore } from '../support/empty-store.ts';

/** The program that `npx millrace` runs. */
export const LAUNCHER = join(import.meta.dirname, '../../bin/millrace.js');

/** A data folder that is gone after the test. */
export async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A data folder with an empty store, as a server's first start leaves it, but without the first key. */
export async function storeFolder(t: TestContext): Promise<string> {
  const folder = await dataFolder(t);
  await putEmptyStore(folder);
  return folder;
}

/** What a finished run left. */
export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to run it. */
export interface RunOptions {
  /** Settings without their `MILLRACE_` prefix. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The Node that reads the launcher; this one by default. */
  readonly node?: string;
  /** The launcher of another installation. */
  readonly launcher?: string;
  /** Standard input: a pipe to write to, or nothing, which is the default. */
  readonly stdin?: 'pipe' | 'ignore';
  /** Run instead of the launcher and the arguments. */
  readonly command?: readonly [string, ...string[]];
}

/** Starts `millrace` with arguments. */
export function start(
  args: readonly string[],
  { settings = {}, node = process.execPath, launcher = LAUNCHER, stdin = 'ignore', command }: RunOptions = {},
) {
  const environment = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`MILLRACE_${name}`, value]));
  const [program, ...rest] = command ?? [node, launcher, ...args];
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  const finished = Promise.all([once(child, 'close'), text(child.stdout!), text(child.stderr!)]).then(
    ([[code, signal], stdout, stderr]): Finished => ({ code, signal, stdout, stderr }),
  );
  return { child, finished };
}

/** Runs `millrace` to its end. */
export const run = (args: readonly string[], options?: RunOptions): Promise<Finished> => start(args, options).finished;

/** A server that is ready, on free ports of the loopback interface. */
export interface Serving {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Such as `http://127.0.0.1:40123`. */
  readonly http: string;
  /** The URL that encoders publish to, before the stream key. */
  readonly rtmp: string;
  readonly metrics: string;
}

/** Starts `millrace serve` and waits until it says that it is ready. */
export async function serve(t: TestContext, { settings = {}, ...how }: RunOptions): Promise<Serving> {
  const loopback = {
    HTTP_HOST: '127.0.0.1',
    RTMP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    RTMP_PORT: '0',
    METRICS_PORT: '0',
  };
  const { child, finished } = start(['serve'], { settings: { ...loopback, ...settings }, ...how });
  t.after(async () => {
    child.kill('SIGTERM');
    await finished;
  });
  const { promise, resolve, reject } = Promise.withResolvers<Serving>();
  let seen = '';
  child.stdout?.on('data', (chunk) => {
    seen += chunk;
    const line = seen.split('\n').find((each) => each.includes('"msg":"ready"') && each.endsWith('}'));
    if (line !== undefined) resolve({ child, finished, ...JSON.parse(line) });
  });
  finished.then(({ stdout, stderr }) => reject(new Error(`it ended before it was ready: ${stdout}${stderr}`)), reject);
  return promise;
}
