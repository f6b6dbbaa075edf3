/**
 * Programs a test needs that npm does not bring.
 */
import { spawnSync } from 'node:child_process';

/**
 * Test options that skip, with the reason, where a program is not installed.
 * Under `CI` nothing is skipped: the test runs and fails where it would have started the program.
 * @param program as one would type it, for example `ffmpeg`
 */
export function needs(program: string): { readonly skip: string | false } {
  if (process.env.CI !== undefined) return { skip: false };
  const found = spawnSync('which', [program], { stdio: 'ignore' }).status === 0;
  return { skip: found ? false : `${program} is not installed` };
}
