/**
 * Counts the open connections of each address.
 */
import { networkOf } from '#lib/network-of.ts';

/** Counts by address, where an IPv6 /64 counts as one address. Only addresses with a connection are remembered. */
export class AddressCounts {
  readonly #counts = new Map<string, number>();

  /** The number of open connections of an address. */
  of(address: string): number {
    return this.#counts.get(networkOf(address)) ?? 0;
  }

  /** Counts a new connection. Call {@link remove} when it is closed. */
  add(address: string): void {
    this.#counts.set(networkOf(address), this.of(address) + 1);
  }

  /** Counts a connection that was closed. @param address the address with which it was added */
  remove(address: string): void {
    const left = this.of(address) - 1;
    if (left > 0) this.#counts.set(networkOf(address), left);
    else this.#counts.delete(networkOf(address));
  }
}
