/**
 * Decides to which addresses the server may connect for a URL that a user chose: only to those of the public internet.
 *
 * A name is resolved once for each connection attempt. Every address it has is checked, and the connection goes to one of exactly these
 * addresses, so a name that resolves to another address a moment later gains nothing (DNS rebinding). What cannot be checked is refused.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Longest URL that is accepted, in characters. */
const MAX_URL_LENGTH = 2048;
/** How long one query for a name may take, and how often it is sent. */
const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;
/** The most addresses of one name that are used. The others are checked too. */
const MAX_ADDRESSES = 8;

/** An address to connect to. */
export interface CheckedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a name to all of its addresses. @throws when there are none */
export type ResolveName = (hostname: string) => Promise<readonly string[]>;

/** The guard refuses a connection. The message is a sentence for the user who chose the URL. */
export class DestinationRefused extends Error {
  override readonly name = 'DestinationRefused';
}

/** What {@link DestinationGuard} needs. */
export interface DestinationGuardOptions {
  /** Whether addresses that only this machine or its network can reach are allowed, for trials and tests. */
  readonly allowPrivate: boolean;
  /**
   * Resolves host names. By default it queries the name servers or, where private addresses are allowed, the resolver of the system, which
   * also reads the list of hosts.
   */
  readonly resolve?: ResolveName;
}

/** Checks URLs before anything is sent to them. */
export class DestinationGuard {
  readonly #allowPrivate: boolean;
  readonly #resolve: ResolveName;

  constructor({ allowPrivate, resolve = allowPrivate ? resolveBySystem : resolveByServers }: DestinationGuardOptions) {
    this.#allowPrivate = allowPrivate;
    this.#resolve = resolve;
  }

  /**
   * What is wrong with the text of a URL, as the end of a sentence; undefined when nothing is. It resolves no name, so a URL that passes
   * may still be refused later.
   */
  problemOf(text: string): string | undefined {
    const url = text.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    if (url === null) return `must be an http or https URL of at most ${MAX_URL_LENGTH} characters`;
    if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
    const literal = literalOf(url);
    if (literal === undefined || this.#isAllowed(literal)) return undefined;
    return 'must not lead to a private, local or reserved address';
  }

  /**
   * Resolves a URL to the addresses that may be connected to now.
   * @throws {DestinationRefused} when one of its addresses is not public, or it has none
   */
  async check(url: URL): Promise<readonly CheckedAddress[]> {
    const literal = literalOf(url);
    if (literal !== undefined) return this.#checked([literal]);
    const found = await this.#resolve(url.hostname).catch((error: unknown) => {
      throw new DestinationRefused('The host name of the URL cannot be resolved.', { cause: error });
    });
    return this.#checked(found);
  }

  #checked(addresses: readonly string[]): readonly CheckedAddress[] {
    if (addresses.length === 0) throw new DestinationRefused('The host name of the URL has no address.');
    if (!addresses.every((address) => this.#isAllowed(address))) {
      throw new DestinationRefused('The URL leads to a private, local or reserved address.');
    }
    return addresses.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
  }

  #isAllowed(address: string): boolean {
    return this.#allowPrivate ? isIP(address) !== 0 : isPublicAddress(address);
  }
}

/**
 * Whether an address is one of the public internet. An IPv6 address in `::ffff:0:0/96` counts as the IPv4 address in it. Addresses of every
 * other kind of translation and tunnel are refused.
 */
export function isPublicAddress(text: string): boolean {
  // The parser alone would also accept short forms, such as 1.2.3.
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text);
  if (address.range() !== 'unicast') return false;
  // Only this part of IPv6 is in public use (RFC 4291, IANA); everything else is not assigned yet, or was withdrawn.
  return address.kind() === 'ipv4' || address.match(PUBLIC_IPV6);
}

const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** The address that a URL has instead of a host name. `URL` has brought decimal, octal, hexadecimal and short spellings into one form. */
function literalOf({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  return isIPv4(hostname) ? hostname : undefined;
}

/**
 * Queries the name servers. The system's own resolver is not used, because its threads are few and shared with the file system: queries
 * that are never answered would block them all.
 */
async function resolveByServers(hostname: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  return found;
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}
