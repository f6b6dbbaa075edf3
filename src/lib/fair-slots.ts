/**
 * A limited number of places, shared fairly among the networks that ask for them.
 */
import { type Networks, networksOf } from './network-of.ts';

/** The outcome for a holder that asked for a place. */
export type SlotDecision<Holder> =
  | { readonly admitted: false }
  /** `evicted` has lost its place to the holder that was admitted, and the caller must end it. */
  | { readonly admitted: true; readonly evicted: Holder | undefined };

const REFUSED = { admitted: false } as const;
const ADMITTED = { admitted: true, evicted: undefined } as const;

/**
 * Places that anybody may take while some are free. When all are taken, the network that holds the most gives one up: of the site
 * (IPv4 /24, IPv6 /48) with the most places, the host (IPv4 /32, IPv6 /64) with the most loses its oldest place. A newcomer is refused
 * when its network would then hold more places than the one that gives a place up, so that a network that takes everything competes only
 * with itself.
 *
 * Every call takes constant time, however many networks there are.
 */
export class FairSlots<Holder> {
  readonly #limit: number;
  readonly #holders = new Map<Holder, Networks>();
  readonly #sites = new Ranking();
  /** The hosts of each site. */
  readonly #hosts = new Map<string, Ranking>();
  /** The holders of each host, the oldest first. */
  readonly #byHost = new Map<string, Set<Holder>>();

  /** @param limit the number of places, at least 1 */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Places taken. */
  get size(): number {
    return this.#holders.size;
  }

  /** Every holder, in the order in which they entered. */
  holders(): Iterable<Holder> {
    return this.#holders.keys();
  }

  /** How many places the host of an address holds. */
  ofHost(address: string): number {
    return this.#byHost.get(networksOf(address).host)?.size ?? 0;
  }

  /** The holder of the oldest place of an address's host; undefined when the host holds none. */
  oldestOfHost(address: string): Holder | undefined {
    return this.#byHost.get(networksOf(address).host)?.values().next().value;
  }

  /**
   * Takes a place. A holder that already has one keeps it and becomes the newest.
   * @param address where the holder comes from
   */
  enter(holder: Holder, address: string): SlotDecision<Holder> {
    if (this.#holders.has(holder)) {
      this.leave(holder);
      this.#add(holder, networksOf(address));
      return ADMITTED;
    }
    const networks = networksOf(address);
    if (this.#holders.size < this.#limit) {
      this.#add(holder, networks);
      return ADMITTED;
    }
    const evicted = this.#victimFor(networks);
    if (evicted === undefined) return REFUSED;
    this.leave(evicted);
    this.#add(holder, networks);
    return { admitted: true, evicted };
  }

  /** Gives the holder's place back. Does nothing when it has none. */
  leave(holder: Holder): void {
    const networks = this.#holders.get(holder);
    if (networks === undefined) return;
    const { host, site } = networks;
    this.#holders.delete(holder);
    this.#sites.change(site, -1);
    const hosts = this.#hosts.get(site)!;
    hosts.change(host, -1);
    if (hosts.largest === undefined) this.#hosts.delete(site);
    const holders = this.#byHost.get(host)!;
    holders.delete(holder);
    if (holders.size === 0) this.#byHost.delete(host);
  }

  #add(holder: Holder, networks: Networks): void {
    const { host, site } = networks;
    this.#holders.set(holder, networks);
    this.#sites.change(site, 1);
    const hosts = this.#hosts.get(site) ?? new Ranking();
    this.#hosts.set(site, hosts);
    hosts.change(host, 1);
    const holders = this.#byHost.get(host);
    if (holders === undefined) this.#byHost.set(host, new Set([holder]));
    else holders.add(holder);
  }

  /** The holder that gives its place to a newcomer from these networks; undefined when no other network holds at least two more places. */
  #victimFor({ host, site }: Networks): Holder | undefined {
    const largestSite = this.#sites.largest!;
    if (this.#sites.exceeds(largestSite, site)) return this.#oldestOf(this.#hosts.get(largestSite)!.largest!);
    const neighbours = this.#hosts.get(site);
    const largestHost = neighbours?.largest;
    return largestHost !== undefined && neighbours!.exceeds(largestHost, host)
      ? this.#oldestOf(largestHost)
      : undefined;
  }

  #oldestOf(host: string): Holder {
    return this.#byHost.get(host)!.values().next().value!;
  }
}

/** Counts by name. It finds a name with the highest count in constant time. */
class Ranking {
  readonly #counts = new Map<string, number>();
  /** The names that have each count. */
  readonly #names = new Map<number, Set<string>>();
  #highest = 0;

  /** A name with the highest count; undefined when nothing is counted. */
  get largest(): string | undefined {
    return this.#names.get(this.#highest)?.values().next().value;
  }

  countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Whether `larger` would still have at least as many as `smaller` after giving it one. */
  exceeds(larger: string, smaller: string): boolean {
    return this.countOf(larger) > this.countOf(smaller) + 1;
  }

  /** Changes the count of a name. @param by 1 or -1 */
  change(name: string, by: 1 | -1): void {
    const before = this.countOf(name);
    const after = before + by;
    this.#leave(before, name);
    if (after > 0) {
      this.#counts.set(name, after);
      const names = this.#names.get(after);
      if (names === undefined) this.#names.set(after, new Set([name]));
      else names.add(name);
    } else this.#counts.delete(name);
    // A count changes by one at a time, so the highest count does too.
    if (after > this.#highest) this.#highest = after;
    else if (before === this.#highest && !this.#names.has(before)) this.#highest = before - 1;
  }

  #leave(count: number, name: string): void {
    const names = this.#names.get(count);
    if (names === undefined) return;
    names.delete(name);
    if (names.size === 0) this.#names.delete(count);
  }
}
