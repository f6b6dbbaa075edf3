/**
 * Hosts whose connections were closed because they flooded this server. For a while they get no new connections, so that they cannot
 * resume the flood by reconnecting.
 */
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Milliseconds } from '#lib/units.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';

/** How long a host is refused after its last flood. Its other open connections stay. */
const REFUSED_MS = 10_000;
/** The most hosts that are remembered. Beyond it, the host with the oldest flood is forgotten. */
const MAX_HOSTS = 10_000;

/** What counts as a flood. */
export type Flood = 'pipelined_requests' | 'requests_cancelled' | 'bytes_without_requests' | 'invalid_frames';

/** What {@link Flooders} needs. */
export interface FloodersOptions {
  readonly clock: Clock;
  /** Trusted proxies are never refused, because they carry the requests of many clients. */
  readonly isTrustedProxy: (address: string) => boolean;
  readonly logger: Logger;
}

/** Remembers the hosts that flooded recently. */
export class Flooders implements Disposable {
  readonly #options: FloodersOptions;
  readonly #lines: CountedLines;
  /** When each host is admitted again, in monotonic time, the earliest first. */
  readonly #refusedUntil = new Map<string, number>();

  constructor(options: FloodersOptions) {
    this.#options = options;
    this.#lines = new CountedLines(options.logger);
  }

  /** Refuses the host of an address whose connection was closed for its flood, unless it is a trusted proxy. */
  add(address: string, flood: Flood): void {
    this.#lines.note('warn', 'connections closed: flood', { flood }, { address, example: { remoteAddress: address } });
    if (this.#options.isTrustedProxy(address)) return;
    const host = networkOf(address);
    this.#refusedUntil.delete(host);
    this.#refusedUntil.set(host, this.#now() + REFUSED_MS);
    if (this.#refusedUntil.size > MAX_HOSTS) this.#refusedUntil.delete(this.#refusedUntil.keys().next().value!);
  }

  /** Whether the host of an address flooded recently. */
  has(address: string): boolean {
    // Nothing is parsed while nobody floods.
    if (this.#refusedUntil.size === 0) return false;
    const host = networkOf(address);
    const until = this.#refusedUntil.get(host);
    if (until === undefined) return false;
    if (this.#now() < until) return true;
    this.#refusedUntil.delete(host);
    return false;
  }

  /** Logs the counts that have not been logged yet. */
  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }

  #now(): Milliseconds {
    return this.#options.clock.monotonic();
  }
}
