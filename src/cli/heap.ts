/**
 * Tunes the heap of a server: little memory while it is idle, and little garbage collection while media flows. `bin/millrace.js` keeps the
 * heap small during the start. This module takes over when the server is ready. `docs/decisions/0016-judged-again.md` has the figures.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const FLAGS = [
  // Collects garbage when memory has grown to three times what was left. Media is kept outside the heap, so V8 sees a small heap
  // beside much fresh memory and collects every second: measured with ten streams, that was 40 % of all CPU.
  '--heap-growing-percent=200',
  // The default of V8, in place of the value that `bin/millrace.js` sets for the start.
  '--semi-space-growth-factor=2',
];

/**
 * Releases the memory that the start no longer needs, which takes about 100 ms, and sets V8's flags for a running server. Set earlier, the
 * flags would let the garbage of the start pile up.
 */
export function tuneHeap(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  for (const flag of FLAGS) setFlagsFromString(flag);
}
