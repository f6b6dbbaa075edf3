/**
 * Remembers the hosts from which publishers were accepted.
 */
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';
import { DAY_MS } from '#lib/units.ts';

/** How many hosts are remembered. When there are more, the one that published longest ago is forgotten. */
const MAX_HOSTS = 10_000;
/** How long a host is remembered after its last publish. */
const KEPT_FOR_MS = DAY_MS;

/** The hosts (IPv4 addresses and IPv6 /64 networks) that published during the last day. */
export class KnownHosts {
  readonly #clock: Clock;
  /** The time when each host last published, the oldest first. */
  readonly #publishedAt = new BoundedMap<string, number>(MAX_HOSTS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the host of an address published during the last day. */
  has(address: string): boolean {
    const publishedAt = this.#publishedAt.get(networkOf(address));
    return publishedAt !== undefined && this.#clock.monotonic() - publishedAt < KEPT_FOR_MS;
  }

  /** Notes that a publish from this address was accepted, or ended, just now. */
  add(address: string): void {
    this.#publishedAt.set(networkOf(address), this.#clock.monotonic());
  }
}
