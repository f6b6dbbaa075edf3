/**
 * The files of recordings on this machine. All calls block until the disk has answered, so they are for worker threads.
 */
import { readdirSync, renameSync, rmSync, statfsSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMediaPath } from '#domain/ids.ts';

/** The prefix of the names of folders that are being removed. No recording has such a name. */
const LEFT = '.removed-';

/** The names of the folders of recordings. Empty when the folder of all recordings does not exist yet. @throws an error of the system */
export function recordingsIn(folder: string): readonly string[] {
  return entriesOf(folder).filter(isMediaPath);
}

/** The names of the files of a recording, with their sizes in bytes. Empty when there is no such folder. @throws an error of the system */
export function fileSizes(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const name of entriesOf(folder)) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.isFile()) sizes.set(name, stats.size);
  }
  return sizes;
}

/** Removes a file. Does nothing when there is none. @throws an error of the system */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Removes the folder of a recording, which disappears as a whole: it is renamed before its files are removed. When the process is killed in
 * between, {@link removeLeftFolders} finds it. Does nothing when there is none.
 * @throws an error of the system
 */
export function removeFolder(path: string): void {
  const left = join(dirname(path), LEFT + basename(path));
  rmSync(left, { recursive: true, force: true });
  try {
    renameSync(path, left);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  rmSync(left, { recursive: true, force: true });
}

/** Removes the remains of folders that a killed process was removing. @throws an error of the system */
export function removeLeftFolders(folder: string): void {
  for (const name of entriesOf(folder)) {
    if (name.startsWith(LEFT)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** The free space of the disk that the folder is on, in bytes. Undefined when there is no folder yet. @throws an error of the system */
export function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!);
