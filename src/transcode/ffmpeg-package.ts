/**
 * Checks whether FFmpeg is installed. It is part of an optional npm package for each platform, which `npm install --omit=optional` leaves
 * out.
 */
import { createRequire } from 'node:module';

/**
 * Whether the package of this platform exists. It is not loaded, because the server process runs no native code.
 * @param from the file that packages are resolved for
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
