/**
 * The hosts that publish here: those that a stream key was shown from.
 */
import type { Clock } from '#lib/clock.ts';
import { networkOf } from '#lib/network-of.ts';

/** Hosts remembered; beyond it the one that published longest ago is forgotten. */
const MAX_HOSTS = 10_000;
/** How long a host is remembered after its last publish. */
const KEPT_FOR_MS = 24 * 60 * 60 * 1000;

/** Remembers hosts (IPv4 addresses, /64 networks of IPv6) for a day after they published. */
export class KnownHosts {
  readonly #clock: Clock;
  /** When each published last, the one that did longest ago first. */
  readonly #publishedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(address: string): boolean {
    const publishedAt = this.#publishedAt.get(networkOf(address));
    return publishedAt !== undefined && this.#clock.monotonic() - publishedAt < KEPT_FOR_MS;
  }

  /** A publish from this address was accepted. */
  add(address: string): void {
    const host = networkOf(address);
    this.#publishedAt.delete(host);
    if (this.#publishedAt.size >= MAX_HOSTS) {
      const oldest = this.#publishedAt.keys().next();
      if (!oldest.done) this.#publishedAt.delete(oldest.value);
    }
    this.#publishedAt.set(host, this.#clock.monotonic());
  }
}
