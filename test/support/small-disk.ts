/**
 * A real file system of a few megabytes, for tests of full disks.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync, statSync, truncateSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A mounted file system. Disposing it unmounts it. */
export interface SmallDisk extends Disposable {
  /** Fills it with a file. @param leaveKib the space to leave; by default none */
  fill(leaveKib?: number): void;
  /** Removes that file. */
  free(): void;
}

/** Mounts a file system on an empty folder. @throws {Error} when this process may not */
export function mountSmallDisk(folder: string, sizeMib: number): SmallDisk {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m,mode=700`, 'tmpfs', folder], { stdio: 'ignore' });
  const filler = join(folder, 'filler');
  return {
    fill(leaveKib = 0) {
      // dd ends when there is no space left.
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096'], { stdio: 'ignore' });
      truncateSync(filler, statSync(filler).size - leaveKib * 1024);
    },
    free: () => rmSync(filler),
    [Symbol.dispose]: () => void execFileSync('umount', ['-l', folder]),
  };
}

/** Whether this process has the right to mount: as root, and not in most containers. */
export const CAN_MOUNT = await tryMounting();

async function tryMounting(): Promise<boolean> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'millrace-test-'));
  try {
    mountSmallDisk(folder.path, 1)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}
