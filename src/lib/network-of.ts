/**
 * The networks that an address counts for in limits by address.
 */

import ipaddr from 'ipaddr.js';
import { BoundedMap } from './bounded-map.ts';

/** The two networks an address is counted in. */
export interface Networks {
  /** One host: the IPv4 address, or the /64 of an IPv6 address, since a host has a whole one to choose addresses from. */
  readonly host: string;
  /** One site: the IPv4 /24, or the IPv6 /48, which is what a customer of an access provider has at most. */
  readonly site: string;
}

/** How many addresses are remembered with their networks: parsing an address costs as much as all the rest of counting it. */
const MAX_REMEMBERED = 4096;
const remembered = new BoundedMap<string, Networks>(MAX_REMEMBERED);

/** The networks of an address. IPv4 mapped into IPv6 counts as IPv4, and a text that is not an address is a network of its own. */
export function networksOf(address: string): Networks {
  const known = remembered.get(address);
  if (known !== undefined) return known;
  const networks = parseNetworks(address);
  remembered.set(address, networks);
  return networks;
}

function parseNetworks(address: string): Networks {
  if (!ipaddr.isValid(address)) return { host: address, site: address };
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  if (parsed.kind() === 'ipv4') return { host: parsed.toString(), site: `${bytes.slice(0, 3).join('.')}.0/24` };
  return { host: bytes.slice(0, 8).join('.'), site: bytes.slice(0, 6).join('.') };
}

/** The {@link Networks.host} of an address. */
export const networkOf = (address: string): string => networksOf(address).host;
