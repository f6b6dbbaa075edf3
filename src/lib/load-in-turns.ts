/**
 * Loads packages that only some servers need, when they first need them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Loads CommonJS modules, one in each turn of the event loop, so that live media waits for no more than one of them.
 * @param names ordered so that each module needs few others that have not been loaded before it
 */
export async function loadInTurns(require: NodeJS.Require, names: readonly string[]): Promise<void> {
  for (const name of names) {
    require(name);
    await nextTurn();
  }
}
