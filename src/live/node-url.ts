/**
 * The URL by which nodes reach each other.
 */
import { hostname } from 'node:os';

/** The addresses that stand for every address of a machine. */
const ALL_ADDRESSES: readonly string[] = ['0.0.0.0', '::'];

/** The URL of an HTTP interface as far as this process knows it: with the address it listens on, or with the machine's name. */
export function defaultNodeUrl({ host, port, secure }: { host: string; port: number; secure: boolean }): string {
  const name = ALL_ADDRESSES.includes(host) ? hostname() : host;
  return `${secure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
