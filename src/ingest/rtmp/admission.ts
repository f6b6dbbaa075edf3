/**
 * Decides which connections are accepted, before any of their bytes are read.
 */
import type { Clock } from '#lib/clock.ts';
import { networksOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import { AddressCounts } from './address-counts.ts';
import type { RtmpSettings } from './config.ts';
import { KnownHosts } from './known-hosts.ts';
import { ReservedSlots } from './reserved-slots.ts';

/** Whether a connection is accepted. `evicted` is the id of another one that must be closed to make room for it. */
export type AdmissionDecision =
  | { readonly admitted: false; readonly why: string }
  | { readonly admitted: true; readonly evicted: number | undefined };

/** A whole site (IPv4 /24, IPv6 /48) may open this many times as many connections a minute as one host. */
const SITE_FACTOR = 4;
/** All hosts that are not known may together open this many times as many connections a minute as one host. */
const ALL_FACTOR = 40;
/** A host that published during the last day may open this many times as many connections a minute as another one. */
const KNOWN_FACTOR = 4;

/** The settings that limit connections. */
export type AdmissionSettings = Pick<
  RtmpSettings,
  'rtmpMaxConnections' | 'rtmpMaxUnauthenticated' | 'rtmpMaxPerAddress' | 'rtmpConnectionsPerMinute'
>;

/**
 * Limits connections: how many there are in all, how many come from one address, how many do not publish, and how many are opened a minute.
 * Hosts that published during the last day have places and rates of their own, so that strangers cannot keep them out.
 *
 * Each connection has an id that is never used twice.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #known: KnownHosts;
  readonly #open = new Set<number>();
  readonly #publishing = new Set<number>();
  readonly #perAddress = new AddressCounts();
  readonly #unauthenticated: ReservedSlots<number>;
  readonly #knownRates: TokenBuckets;
  readonly #hostRates: TokenBuckets;
  readonly #siteRates: TokenBuckets;
  readonly #allRate: TokenBuckets;

  constructor(settings: AdmissionSettings, clock: Clock) {
    const perMinute = settings.rtmpConnectionsPerMinute;
    this.#settings = settings;
    this.#known = new KnownHosts(clock);
    this.#unauthenticated = new ReservedSlots(settings.rtmpMaxUnauthenticated);
    this.#knownRates = new TokenBuckets({ perMinute: KNOWN_FACTOR * perMinute, clock });
    this.#hostRates = new TokenBuckets({ perMinute, clock });
    this.#siteRates = new TokenBuckets({ perMinute: SITE_FACTOR * perMinute, clock });
    // There is no use in accepting many more at once than there are places: they would be closed again.
    const atOnce = Math.max(perMinute, 2 * settings.rtmpMaxUnauthenticated);
    this.#allRate = new TokenBuckets({ perMinute: ALL_FACTOR * perMinute, atOnce, clock });
  }

  /** Whether the host of an address published during the last day. */
  isKnown(address: string): boolean {
    return this.#known.has(address);
  }

  /** Decides on a new connection. One that is accepted keeps its place until {@link leave}. */
  enter(id: number, address: string): AdmissionDecision {
    const isKnown = this.#known.has(address);
    if (!this.#isWithinRates(address, isKnown)) return { admitted: false, why: 'too_many_connections_a_minute' };
    if (this.#perAddress.of(address) >= this.#settings.rtmpMaxPerAddress) {
      return { admitted: false, why: 'too_many_from_one_address' };
    }
    if (this.#open.size >= this.#settings.rtmpMaxConnections) return this.#enterFull(id, address, isKnown);
    return this.#takePlace(id, address, isKnown);
  }

  /** Notes that the connection's publish was accepted. It no longer takes a place of those that do not publish, and its host is known. */
  accepted(id: number, address: string): void {
    this.#unauthenticated.leave(id);
    this.#publishing.add(id);
    this.#known.add(address);
  }

  /** Notes that the connection no longer publishes, and takes a place among those that do not. If there is none, it must be closed. */
  unpublished(id: number, address: string): AdmissionDecision {
    this.#endPublish(id, address);
    return this.#takePlace(id, address, this.#known.has(address));
  }

  /** Notes that the connection is gone. Does nothing for one that was not accepted. */
  leave(id: number, address: string): void {
    if (!this.#open.delete(id)) return;
    this.#endPublish(id, address);
    this.#unauthenticated.leave(id);
    this.#perAddress.remove(address);
  }

  /** Remembers the host again at the end of its publish, which may have lasted for days. */
  #endPublish(id: number, address: string): void {
    if (this.#publishing.delete(id)) this.#known.add(address);
  }

  /** Gives a known host the place of the stranger that came first, because all places are taken. */
  #enterFull(id: number, address: string, isKnown: boolean): AdmissionDecision {
    const evicted = isKnown ? this.#unauthenticated.oldestStranger : undefined;
    if (evicted === undefined) return { admitted: false, why: 'too_many_connections' };
    this.#unauthenticated.leave(evicted);
    const decision = this.#takePlace(id, address, isKnown);
    return decision.admitted ? { admitted: true, evicted } : decision;
  }

  #takePlace(id: number, address: string, isKnown: boolean): AdmissionDecision {
    const admission = this.#unauthenticated.enter(id, address, isKnown);
    if (!admission.admitted) return { admitted: false, why: 'too_many_unauthenticated' };
    if (!this.#open.has(id)) {
      this.#open.add(id);
      this.#perAddress.add(address);
    }
    return admission;
  }

  #isWithinRates(address: string, isKnown: boolean): boolean {
    const { host, site } = networksOf(address);
    if (isKnown) return this.#knownRates.take(host).allowed;
    // The site first, so that a site with many hosts cannot fill the buckets of hosts.
    return (
      this.#siteRates.take(site).allowed && this.#hostRates.take(host).allowed && this.#allRate.take('all').allowed
    );
  }
}
