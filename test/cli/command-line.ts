/**
 * Runs many command lines of `millrace` in one process, because starting one for each takes more CPU time than most commands. Tests of how the
 * process starts, ends and is stopped start one with `millrace.ts`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RunOptions } from './millrace.ts';

/** A message to the process. */
export interface CommandLine {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Its answer. */
export interface CommandLineEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The process of the tests of one file. It starts with the first command line, and must be disposed. */
export class CommandLines implements AsyncDisposable {
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `millrace` with arguments to its end, after those before. */
  readonly run = (args: readonly string[], options: Pick<RunOptions, 'settings'> = {}): Promise<CommandLineEnd> => {
    const end = this.#last.then(() => this.#run(args, options));
    this.#last = end.catch(() => {});
    return end;
  };

  async #run(args: readonly string[], { settings = {} }: Pick<RunOptions, 'settings'>): Promise<CommandLineEnd> {
    this.#child ??= this.#start();
    const named = Object.entries(settings).map(([name, value]) => [`MILLRACE_${name}`, value]);
    const environment = { PATH: process.env.PATH, HOME: process.env.HOME, ...Object.fromEntries(named) };
    this.#child.send({ args, environment } satisfies CommandLine);
    const answered = once(this.#child, 'message').then(([end]) => end as CommandLineEnd);
    const end = await Promise.race([answered, this.#ended]);
    if (end === undefined) throw new Error(`millrace ${args[0]} ended its process`);
    return end as CommandLineEnd;
  }

  #start(): ChildProcess {
    const child = fork(join(import.meta.dirname, 'command-line-child.ts'));
    this.#ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }
}
