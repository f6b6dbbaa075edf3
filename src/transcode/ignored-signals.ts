/**
 * The signals that workers and the fork server ignore.
 */

/** Signals that a terminal or a service manager may send to every process of the server. */
const SERVERS_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Makes this process ignore them, because the server ends its workers and its fork server by ending their connection. */
export function ignoreServersSignals(): void {
  for (const signal of SERVERS_SIGNALS) process.on(signal, () => {});
}
