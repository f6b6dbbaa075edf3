/**
 * Notices that the server shall stop.
 */
import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves with the reason at the first SIGTERM or SIGINT, or when the launcher that started this process is gone
 * (it holds an IPC channel for nothing else). A second signal ends the process at once, with 128 and its number.
 */
export function stopSignal(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let signals = 0;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) process.exit(128 + constants.signals[signal]);
      resolve(signal);
    });
  }
  if (process.connected) process.once('disconnect', () => resolve('launcher ended'));
  process.channel?.unref(); // listening to it must not keep a drained process alive
  return promise;
}
