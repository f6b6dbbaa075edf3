/**
 * Loaded into a serving process by a test (`node --import`). After SIGTERM the process stands still, as on a busy machine: for longer than
 * its drain may take, and from the moment at which the drain has begun.
 */
const STANDSTILL_MS = 6000;

process.once('SIGTERM', () => {
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS));
});
