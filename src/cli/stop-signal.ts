/**
 * Notices that the server shall stop.
 */
import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves with the reason at the first SIGTERM, SIGINT or SIGHUP, or when the launcher that started this process is gone
 * (it holds an IPC channel for nothing else). A second SIGTERM or SIGINT ends the process at once, with 128 and its number.
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
  // The terminal is closed: Node itself would end at once. It may come from the system and from the shell, so twice is not impatience.
  process.on('SIGHUP', () => resolve('SIGHUP'));
  if (process.connected) process.once('disconnect', () => resolve('launcher ended'));
  process.channel?.unref(); // listening to it must not keep a drained process alive
  return promise;
}
