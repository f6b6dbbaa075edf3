/**
 * The address by which nodes reach each other.
 */
import { hostname } from 'node:os';

/** What every address is written as that means all of a machine's. */
const ALL_ADDRESSES: readonly string[] = ['0.0.0.0', '::'];

/** The origin of a URL that is nothing more: no path, no name, no password. Undefined for any other text. */
export function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  return isOrigin ? url.origin : undefined;
}

/** Where others reach an HTTP interface, as far as this process can know: by the address it listens on, or the machine's name. */
export function defaultNodeUrl({ host, port, secure }: { host: string; port: number; secure: boolean }): string {
  const name = ALL_ADDRESSES.includes(host) ? hostname() : host;
  return `${secure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
