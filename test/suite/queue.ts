/**
 * A queue of test files. It is a folder with an empty file for each of them. Processes take a test file by renaming its entry, and delete
 * the entry when the tests of the file have ended.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A queue that is removed when it is disposed. */
export interface Queue extends Disposable {
  /** The folder to pass to {@link takeFile}. */
  readonly folder: string;
}

/** Makes a queue. Files are taken in this order. */
export function makeQueue(files: readonly string[]): Queue {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tests-'));
  for (const [index, file] of files.entries()) {
    writeFileSync(join(folder, `${String(index).padStart(6, '0')} ${encodeURIComponent(file)}`), '');
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A test file that a process has taken. */
export interface TakenFile {
  readonly file: string;
  /** Call it when its tests have ended. */
  finish(): void;
}

/** Takes the first file that no process has taken yet. */
export function takeFile(folder: string): TakenFile | undefined {
  for (const entry of entriesOf(folder).waiting) {
    const taken = join(folder, TAKEN + entry);
    try {
      renameSync(join(folder, entry), taken);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue; // another process has taken it
      throw error;
    }
    return { file: fileOf(entry), finish: () => rmSync(taken) };
  }
  return undefined;
}

/** The files that nobody has taken, and those that were taken and have not finished. */
export function filesLeft(folder: string): {
  readonly waiting: readonly string[];
  readonly unfinished: readonly string[];
} {
  const { waiting, taken } = entriesOf(folder);
  return { waiting: waiting.map(fileOf), unfinished: taken.map(fileOf) };
}

/** What the name of an entry begins with once a process has taken it. */
const TAKEN = 'taken ';

function entriesOf(folder: string): { readonly waiting: readonly string[]; readonly taken: readonly string[] } {
  const entries = readdirSync(folder).sort();
  const isTaken = (entry: string) => entry.startsWith(TAKEN);
  return { waiting: entries.filter((entry) => !isTaken(entry)), taken: entries.filter(isTaken) };
}

const fileOf = (entry: string): string => decodeURIComponent(entry.slice(entry.lastIndexOf(' ') + 1));
