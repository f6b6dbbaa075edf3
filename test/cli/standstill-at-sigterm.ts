/**
 * Loaded into a serving process by a test (`node --import`). When the drain has begun after SIGTERM, the process stands still for longer
 * than the drain may take, as on a busy machine.
 */
const STANDSTILL_MS = 6000;

process.once('SIGTERM', () => {
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS));
});
