/**
 * Programs that tests need and npm does not install.
 */
import { spawnSync } from 'node:child_process';

/**
 * Returns options that skip a test, with the reason, where a program is not installed.
 * Under `CI` nothing is skipped: the test runs and fails where it would have started the program.
 * @param program the name of its command, such as `ffmpeg`
 */
export function needs(program: string): { readonly skip: string | false } {
  if (process.env.CI !== undefined) return { skip: false };
  const found = spawnSync('which', [program], { stdio: 'ignore' }).status === 0;
  return { skip: found ? false : `${program} is not installed` };
}
