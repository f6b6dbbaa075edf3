/**
 * The folder of all recordings. When the operator has put it on a volume of its own, it is empty while that volume is not mounted, and then
 * recordings must neither be taken for lost nor be written into the empty mount point. So the folder has a file that marks it, and the data
 * folder notes which folder was marked. The calls block, so they are made in worker threads.
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
  /** The file that contains the path of the marked folder. Undefined when the folder is in the data folder, and is not marked. */
  readonly noteFile: string | undefined;
}

/**
 * Makes sure that the right folder is available. Only then does a missing file not exist. Creates and marks the folder at its first use.
 * @throws {Error} when it was used before and is empty now; an error of the system
 */
export function mustBeThere({ folder, noteFile }: RecordingsPlace): void {
  if (noteFile === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return;
  }
  const marker = join(folder, MARKER_NAME);
  if (exists(marker)) return;
  const wasMarked = exists(noteFile) && readFileSync(noteFile, 'utf8') === folder;
  if (wasMarked && recordingsIn(folder).length === 0) {
    throw new Error(
      `the folder of recordings ${folder} was used before and is empty; mount its volume, or create ${marker} to begin with an empty one`,
    );
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(marker, '', { mode: 0o600, flush: true });
  writeFileSync(noteFile, folder, { mode: 0o600, flush: true });
}

/** Whether a file or folder exists. @throws an error of the system when that cannot be determined */
export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
