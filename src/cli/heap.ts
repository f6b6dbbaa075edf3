/**
 * Tunes the heap of a server: little memory while it is idle, and little garbage collection while media flows.
 * `docs/decisions/0016-judged-again.md` has the figures.
 */
import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects garbage when memory has grown to three times what the last collection left. Media is kept outside the heap, so V8 sees a small
 * heap beside much fresh memory and by default collects every second: measured with ten streams, that was 40 % of all CPU.
 */
const RUNNING_FLAG = '--heap-growing-percent=200';

/** An object of `process.nextTick`. See {@link keepTick}. */
let keptTick: object | undefined;

/**
 * Keeps one object of `process.nextTick` for as long as the process runs, and with it V8's description of the shape of these objects. A
 * collection that finds no such object discards the shape, and from then on V8 makes each of them by slow calls of its runtime: 3.7 % of
 * the CPU time of a short request (Node 26.10).
 * @returns the object that is kept
 */
export function keepTick(): Promise<object | undefined> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      keptTick ??= executionAsyncResource();
      resolve(keptTick);
    });
  });
}

/**
 * Releases the memory that the start no longer needs, which takes about 100 ms, and sets V8's flag for a running server. Set earlier, the
 * flag would let the garbage of the start pile up.
 */
export function tuneHeap(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString(RUNNING_FLAG);
}
