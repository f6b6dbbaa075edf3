/**
 * Decides which connections are let in, before any of their bytes is read.
 */
import type { Clock } from '#lib/clock.ts';
import { networksOf } from '#lib/network-of.ts';
import { TokenBuckets } from '#lib/token-buckets.ts';
import { AddressCounts } from './address-counts.ts';
import type { RtmpSettings } from './config.ts';
import { KnownHosts } from './known-hosts.ts';
import { ReservedSlots } from './reserved-slots.ts';

/** What became of a connection; `evicted` is the id of another one that must be closed for it. */
export type AdmissionDecision =
  | { readonly admitted: false; readonly why: string }
  | { readonly admitted: true; readonly evicted: number | undefined };

/** How many times the rate of one host a whole site may have. */
const SITE_FACTOR = 4;
/** How many times that rate all strangers together may have. */
const ALL_FACTOR = 40;
/** How many times that rate a host may have that publishes here. */
const KNOWN_FACTOR = 4;

/** The settings it goes by. */
export type AdmissionSettings = Pick<
  RtmpSettings,
  'rtmpMaxConnections' | 'rtmpMaxUnauthenticated' | 'rtmpMaxPerAddress' | 'rtmpConnectionsPerMinute'
>;

/**
 * Keeps the limits on connections: how many there are, how many of one address, how many that do not publish, and how fast new ones come.
 * Hosts that published during the last day are judged apart from strangers wherever strangers could be in their way.
 *
 * Connections are known by ids that are never used twice.
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
    // More at once than there are places would only be closed again.
    const atOnce = Math.max(perMinute, 2 * settings.rtmpMaxUnauthenticated);
    this.#allRate = new TokenBuckets({ perMinute: ALL_FACTOR * perMinute, atOnce, clock });
  }

  isKnown(address: string): boolean {
    return this.#known.has(address);
  }

  /** A connection asks to be let in, and has a place when it is, until it {@link leave}s. */
  enter(id: number, address: string): AdmissionDecision {
    const isKnown = this.#known.has(address);
    if (!this.#isSlowEnough(address, isKnown)) return { admitted: false, why: 'too_many_connections_a_minute' };
    if (this.#perAddress.of(address) >= this.#settings.rtmpMaxPerAddress) {
      return { admitted: false, why: 'too_many_from_one_address' };
    }
    if (this.#open.size >= this.#settings.rtmpMaxConnections) return this.#enterFull(id, address, isKnown);
    return this.#takePlace(id, address, isKnown);
  }

  /** The connection's publish was accepted: it needs no place among those that do not publish, and its host is known from now on. */
  accepted(id: number, address: string): void {
    this.#unauthenticated.leave(id);
    this.#publishing.add(id);
    this.#known.add(address);
  }

  /** The connection publishes no more, and must have a place again among those that do not. Not admitted, it must be closed. */
  unpublished(id: number, address: string): AdmissionDecision {
    this.#endPublish(id, address);
    return this.#takePlace(id, address, this.#known.has(address));
  }

  /** The connection is gone. Does nothing when it was not let in. */
  leave(id: number, address: string): void {
    if (!this.#open.delete(id)) return;
    this.#endPublish(id, address);
    this.#unauthenticated.leave(id);
    this.#perAddress.remove(address);
  }

  /** A host is remembered from the end of its last publish, which may have lasted for days. */
  #endPublish(id: number, address: string): void {
    if (this.#publishing.delete(id)) this.#known.add(address);
  }

  /** With all places taken, a known host gets that of the stranger that came first. */
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

  #isSlowEnough(address: string, isKnown: boolean): boolean {
    const { host, site } = networksOf(address);
    if (isKnown) return this.#knownRates.take(host).allowed;
    // The wider network first, so that one with many hosts cannot fill what is remembered of hosts.
    return (
      this.#siteRates.take(site).allowed && this.#hostRates.take(host).allowed && this.#allRate.take('all').allowed
    );
  }
}
