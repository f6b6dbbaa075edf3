/**
 * The dashboard's files for browsers. The npm package has them. In a clone they are bundled in memory, by a child process. A server that
 * was started at a terminal does this once it listens. Others do it when the dashboard is first opened, which then takes about half a
 * second longer.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { MillraceError } from '#domain/errors.ts';
import { type AssetFolder, folderOf } from '#http/assets.ts';
import { bareEnvironment } from '#lib/bare-environment.ts';
import type { Logger } from '#telemetry/logger.ts';

/** Where `packaging/build.ts` puts the files. Only the npm package has this folder. */
const PREBUILT = new URL('./files/', import.meta.url);
const BUNDLER = new URL('./bundler/main.ts', import.meta.url);
/** How long bundling may take. It needs less than a second of CPU time, but the machine may be busy. */
const LIMIT_MS = 60_000;

/** Provides the files, which are made once. Disposing it ends the process that makes them. */
export class DashboardBundle implements Disposable {
  readonly #logger: Logger;
  readonly #bundler: URL;
  #files: Promise<AssetFolder> | undefined;
  #child: ChildProcess | undefined;

  /** @param bundler the program that makes the files; other values are for tests */
  constructor(logger: Logger, bundler = BUNDLER) {
    this.#logger = logger;
    this.#bundler = bundler;
  }

  /**
   * Resolves with the files once they are made.
   * @throws {MillraceError} `dashboard_unavailable` when bundling fails; the next call tries again
   */
  files(): Promise<AssetFolder> {
    this.#files ??= this.#make().catch((error: unknown) => {
      this.#files = undefined;
      this.#logger.error({ err: error }, 'the dashboard cannot be bundled');
      throw new MillraceError(
        'dashboard_unavailable',
        'The dashboard cannot be bundled on this server: esbuild does not run. The API and playback work; the reason is in the log of the server.',
        { cause: error },
      );
    });
    return this.#files;
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
  }

  async #make(): Promise<AssetFolder> {
    return folderOf((await prebuilt()) ?? (await this.#bundle()));
  }

  async #bundle(): Promise<ReadonlyMap<string, Buffer>> {
    const child = fork(this.#bundler, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
      env: bareEnvironment(),
    });
    this.#child = child;
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    let said = '';
    child.stderr?.on('data', (piece: Buffer) => {
      if (said.length < 10_000) said += String(piece);
    });
    try {
      const { promise, resolve, reject } = Promise.withResolvers<readonly (readonly [string, Uint8Array])[]>();
      child.once('message', (files) => resolve(files as readonly (readonly [string, Uint8Array])[]));
      child.once('error', reject);
      child.once('close', (code, signal) => reject(new Error(`the bundler ended with ${code ?? signal}: ${said}`)));
      return new Map((await promise).map(([name, bytes]) => [name, Buffer.from(bytes)]));
    } finally {
      clearTimeout(limit);
      this.#child = undefined;
    }
  }
}

/** The files of the npm package; undefined in a clone. */
async function prebuilt(): Promise<ReadonlyMap<string, Buffer> | undefined> {
  const names = await readdir(PREBUILT).catch(() => undefined);
  if (names === undefined) return undefined;
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, PREBUILT))] as const)),
  );
}
