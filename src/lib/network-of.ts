/**
 * Whom an address stands for, where limits are counted by address.
 */
import ipaddr from 'ipaddr.js';

/**
 * The IPv4 address, also when mapped into IPv6; the /64 of an IPv6 address, for a host has a whole one to choose addresses from;
 * anything else as it is.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return parsed.toByteArray().slice(0, 8).join('.');
}
