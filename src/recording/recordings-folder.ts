/**
 * The folder of all recordings. When the operator has put it on a volume of its own, it is empty while that volume is not mounted, and then
 * recordings must neither be taken for lost nor be written into the empty mount point. So the folder has a file with a mark of its own,
 * and the data folder notes the mark. A mount point that was marked before the volume was first mounted has another mark. The calls block,
 * so they are made in worker threads.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordingsIn } from './storage/local-files.ts';

/** The name of the file that marks the folder. */
export const MARKER_NAME = '.millrace-recordings';

/** Where recordings are stored. */
export interface RecordingsPlace {
  /** The folder of all recordings. */
  readonly folder: string;
  /**
   * The file that contains the path of the marked folder and, in a second line, its mark. Undefined when the folder is in the data folder,
   * and is not marked.
   */
  readonly noteFile: string | undefined;
}

/**
 * Makes sure that the right folder is available. Only then does a missing file not exist. Creates and marks the folder at its first use.
 * An operator permits another folder with an empty marker file in it.
 * @throws {Error} when the folder was used before and is empty now or has another mark; an error of the system
 */
export function mustBeThere({ folder, noteFile }: RecordingsPlace): void {
  if (noteFile === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return;
  }
  const marker = join(folder, MARKER_NAME);
  const mark = textOf(marker);
  const [notedFolder, notedMark] = textOf(noteFile)?.split('\n') ?? [];
  const wasUsed = notedFolder === folder;
  if (mark === undefined && wasUsed && recordingsIn(folder).length === 0) {
    throw new Error(
      `the folder of recordings ${folder} was used before and is empty; mount its volume, or create ${marker} to begin with an empty one`,
    );
  }
  if (mark && wasUsed && notedMark !== undefined && mark !== notedMark) {
    throw new Error(
      `the folder of recordings ${folder} is not the one that was used last; mount its volume, or delete ${noteFile} to use this one`,
    );
  }
  const known = mark || newMark(folder);
  // If the process ends between the two writes, the next process takes the same mark.
  if (!wasUsed || notedMark !== known) writeFileSync(noteFile, `${folder}\n${known}`, { mode: 0o600, flush: true });
  if (!mark) writeFileSync(marker, known, { flag: 'r+', flush: true });
}

/**
 * The mark of a folder that has none yet. It is made of the inode and the time of the empty marker file, which is created if there is none.
 * So all threads, and all servers that share the folder, take the same mark when they start at the same time.
 */
function newMark(folder: string): string {
  const marker = join(folder, MARKER_NAME);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(marker, '', { flag: 'a', mode: 0o600 });
  const { ino, mtimeNs } = statSync(marker, { bigint: true });
  // If the marker is still empty, no other server had written a mark into it when its inode and time were read.
  return textOf(marker) || `${ino}-${mtimeNs}`;
}

function textOf(path: string): string | undefined {
  return exists(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/** Whether a file or folder exists. @throws an error of the system when that cannot be determined */
export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
