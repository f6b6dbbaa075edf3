/**
 * The npm package as its users have it: packed as npm would publish it, and installed into an empty folder.
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
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

/**
 * Unpacks the package and links what it depends on to the dependencies of this clone. That takes a tenth of the CPU time of an installation, and
 * has the same limits: the code of the package finds nothing that its manifest does not name.
 * @returns the path of its launcher
 */
export async function unpack(folder: string, tarball: string): Promise<string> {
  const unpacked = join(folder, 'node_modules/millrace');
  await mkdir(unpacked, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked]);
  const manifest = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8')) as Record<string, object>;
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const link = join(folder, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), link);
  }
  return join(unpacked, 'bin/millrace.js');
}
