/**
 * The npm package as its users have it: packed as npm would publish it, and installed into an empty folder.
 */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

/** What npm printed. */
interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the system's npm.
 * @param node the Node it runs on, whose folder comes first in `PATH`; by default the one that `PATH` finds
 */
export function npm(folder: string, args: readonly string[], node?: string): Promise<Printed> {
  // Not what `npm run --silent` sets for the processes below it.
  const { npm_config_loglevel: _, ...env } = process.env;
  if (node !== undefined) env.PATH = `${dirname(node)}:${env.PATH}`;
  return promisify(execFile)('npm', args, { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 });
}

/** Packs Millrace. @returns the path of the tarball, in the folder */
export async function pack(folder: string): Promise<string> {
  await npm(ROOT, ['run', 'package', '--', '--pack-destination', folder]);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm run package has made no tarball');
  return join(folder, tarball);
}

/** An installation of the package. */
export interface Installation extends Printed {
  /** The path of its launcher. */
  readonly launcher: string;
}

/** Installs the package. What is in npm's cache is not downloaded. */
export async function install(
  folder: string,
  tarball: string,
  options: readonly string[],
  node?: string,
): Promise<Installation> {
  const printed = await npm(folder, ['install', '--prefer-offline', ...options, tarball], node);
  return { ...printed, launcher: join(folder, 'node_modules/millrace/bin/millrace.js') };
}
