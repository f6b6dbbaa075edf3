/**
 * The files of recordings on this machine. All calls wait for the disk, so they are for worker threads.
 */
import { readdirSync, renameSync, rmSync, statfsSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isMediaPath } from '#domain/ids.ts';

/** The beginning of the names of folders that are being removed. No recording has such a name. */
const LEFT = '.removed-';

/** The folders of recordings. Empty when there is no folder yet. */
export function recordingsIn(folder: string): readonly string[] {
  return entriesOf(folder).filter(isMediaPath);
}

/** The files of a recording with their sizes. */
export function fileSizes(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const name of entriesOf(folder)) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.isFile()) sizes.set(name, stats.size);
  }
  return sizes;
}

/** Removes a file. No error when there is none. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Removes the folder of a recording, as a whole or not at all: under another name, which {@link removeLeftFolders} finds when the process is
 * killed. No error when there is none.
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

/** Removes what a killed process has left of folders that it removed. */
export function removeLeftFolders(folder: string): void {
  for (const name of entriesOf(folder)) {
    if (name.startsWith(LEFT)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** The bytes that this process may still write where the folder is. Undefined when there is no folder yet. */
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
