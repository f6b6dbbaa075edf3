/**
 * The test files that are still to run, as a folder with an empty file for each, from which several processes take them.
 */
import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A queue that is removed when it is disposed. */
export interface Queue extends Disposable {
  /** For {@link takeFile}. */
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

/** Takes the first file that no process has taken yet. */
export function takeFile(folder: string): string | undefined {
  for (const entry of readdirSync(folder).sort()) {
    try {
      unlinkSync(join(folder, entry));
      return fileOf(entry);
    } catch {
      // Another process has taken it.
    }
  }
  return undefined;
}

/** The files that nobody has taken. */
export const filesLeft = (folder: string): readonly string[] => readdirSync(folder).sort().map(fileOf);

const fileOf = (entry: string): string => decodeURIComponent(entry.slice(entry.indexOf(' ') + 1));
