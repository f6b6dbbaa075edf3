/**
 * The signals that workers and the fork server ignore.
 */

/** Signals that a terminal or a service manager may send to every process of the server. */
const SERVERS_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Makes this process ignore the signals that a terminal or a service manager sends to all processes. The server ends its workers and the
 * fork server itself, by closing their connections.
 */
export function ignoreServersSignals(): void {
  for (const signal of SERVERS_SIGNALS) process.on(signal, () => {});
}
