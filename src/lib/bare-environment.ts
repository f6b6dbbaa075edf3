/**
 * The environment of the server's threads and child processes.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * Makes an environment for a thread or a child process. Nothing is passed on, because variables may hold secrets, except the folder of the
 * compile cache if there is one. In a clone, who finds its files there does not load the type stripper, which takes half of the memory of a
 * thread of the store (10 of 20 MB, Node 26.10) and half of the CPU time of the start of a transcoder (130 of 230 ms).
 */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir();
  // The value names the folder of this Node version, which is inside the folder to be passed on.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
