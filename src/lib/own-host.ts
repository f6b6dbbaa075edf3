/**
 * Tells whether two clients of this server run on one machine.
 */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { networkOf } from './network-of.ts';

/**
 * Whether two addresses are of one host. All addresses of the machine that this server runs on count as one, because a browser and an
 * encoder there may connect to different ones of them. So does a whole /64 of IPv6.
 */
export function areOneHost(one: string, other: string): boolean {
  return networkOf(one) === networkOf(other) || (isOwn(one) && isOwn(other));
}

function isOwn(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() === 'loopback') return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((own) => ipaddr.process(own.address).toString() === parsed.toString()),
  );
}
