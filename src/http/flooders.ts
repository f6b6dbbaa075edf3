/**
 * The hosts whose connections were cut because they flooded this server: for a while they get no new connections, so that
 * reconnecting does not begin the flood again.
 */
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import type { Milliseconds } from '#lib/units.ts';
import { CountedLines } from '#telemetry/counted-lines.ts';
import type { Logger } from '#telemetry/logger.ts';

/** How long a host is refused after its last flood. Connections that it has already stay. */
const REFUSED_MS = 10_000;
/** Hosts that are remembered. Beyond it the one whose flood is longest ago is forgotten. */
const MAX_HOSTS = 10_000;

/** What counts as a flood. */
export type Flood = 'pipelined_requests' | 'requests_taken_back' | 'bytes_without_requests' | 'invalid_frames';

/** What {@link Flooders} needs. */
export interface FloodersOptions {
  readonly clock: Clock;
  /** Whose hosts are never refused, since they carry the requests of many. */
  readonly isTrustedProxy: (address: string) => boolean;
  readonly logger: Logger;
}

/** The hosts that flooded lately. */
export class Flooders implements Disposable {
  readonly #options: FloodersOptions;
  readonly #lines: CountedLines;
  /** When each host is let in again, in monotonic time and in that order. */
  readonly #refusedUntil = new Map<string, number>();

  constructor(options: FloodersOptions) {
    this.#options = options;
    this.#lines = new CountedLines(options.logger);
  }

  /** A connection from the address was cut for its flood. Its host is refused from now on, unless it is a trusted proxy. */
  add(address: string, flood: Flood): void {
    this.#lines.note('warn', 'connections cut', { flood }, { address, example: { remoteAddress: address } });
    if (this.#options.isTrustedProxy(address)) return;
    const host = networkOf(address);
    this.#refusedUntil.delete(host);
    this.#refusedUntil.set(host, this.#now() + REFUSED_MS);
    if (this.#refusedUntil.size > MAX_HOSTS) this.#refusedUntil.delete(this.#refusedUntil.keys().next().value!);
  }

  /** Whether the host of the address flooded lately. */
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

  /** Tells the log what has not been told. */
  [Symbol.dispose](): void {
    this.#lines[Symbol.dispose]();
  }

  #now(): Milliseconds {
    return this.#options.clock.monotonic();
  }
}
