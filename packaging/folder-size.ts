/**
 * The size of a folder on the disk.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The disk space of the files below a folder, in MiB, rounded up. Needs `du`. */
export async function folderMib(folder: string): Promise<number> {
  const { stdout } = await promisify(execFile)('du', ['--summarize', '--block-size=1M', folder]);
  return Number.parseInt(stdout, 10);
}
