/**
 * The reverse proxies in front of this server that the operator trusts.
 */
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The networks that `loopback` stands for. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/**
 * Makes a function that decides whether an address belongs to a trusted proxy.
 * @param proxies addresses, networks such as `10.0.0.0/8`, and `loopback`
 */
export function trustedProxies(proxies: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const proxy of proxies.flatMap((each) => (each === 'loopback' ? LOOPBACK : each))) {
    const [network = '', prefix] = proxy.split('/');
    const address = ipaddr.parse(network).toString();
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
