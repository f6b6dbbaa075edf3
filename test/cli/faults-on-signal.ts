/**
 * Loaded into a serving process by a test (`node --import`). The first SIGUSR2 throws errors in the event loop, the next one rejects
 * promises that nobody handles, and so on. The number of errors for each signal is in `?times=` at the end of the module's URL.
 */
const times = Number(new URL(import.meta.url).searchParams.get('times'));
let signals = 0;

process.on('SIGUSR2', () => {
  signals += 1;
  const isRejection = signals % 2 === 0;
  for (let index = 0; index < times; index++) setImmediate(isRejection ? reject : fail);
});

function fail(): void {
  throw new RangeError('an error for this test');
}

function reject(): void {
  void Promise.reject(new TypeError('a rejection for this test'));
}
