/**
 * Whether FFmpeg is there. It comes in an optional npm package for each platform, which `npm install --omit=optional` leaves out.
 */
import { createRequire } from 'node:module';

/**
 * Looks for the package of this platform without loading it: the server process runs no native code.
 * @param from a file that Node resolves packages for
 */
export function hasFfmpeg(from: string = import.meta.filename): boolean {
  try {
    const wrapper = createRequire(from).resolve('node-av/lib');
    createRequire(wrapper).resolve(`@seydx/node-av-${process.platform}-${process.arch}/package.json`);
    return true;
  } catch {
    return false;
  }
}
