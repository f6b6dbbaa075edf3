/**
 * Detects that the server must stop.
 */
import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves with the reason at the first SIGTERM, SIGINT or SIGHUP, or when the launcher that started this process has ended, which closes
 * its IPC channel. A second SIGTERM or SIGINT ends the process at once, with 128 plus its number.
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
  // The terminal was closed. By default, Node would end at once. A second SIGHUP changes nothing: the system and the shell may each send one.
  process.on('SIGHUP', () => resolve('SIGHUP'));
  if (process.connected) process.once('disconnect', () => resolve('launcher ended'));
  process.channel?.unref(); // listening to it must not keep a drained process alive
  return promise;
}
