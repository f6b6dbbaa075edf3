/**
 * A Node on this machine that is too old to run the server itself.
 */
import { execFileSync } from 'node:child_process';

/** The path of that Node; undefined when there is none. */
export const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
  try {
    const major = Number.parseInt(execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10);
    return major >= 20 && major < 24;
  } catch {
    return false;
  }
});

/** The options of a test that needs such a Node. */
export const needsOldNode = { skip: oldNode === undefined && 'no Node older than 24 is installed' };
