/**
 * The loopback addresses of everybody in an attack. On Linux all of 127.0.0.0/8 is this machine.
 */

/** The address of those who must not notice the attack. */
export const VICTIM = '127.0.1.1';

/** One address of an attacker. */
export const ONE_ADDRESS: readonly string[] = ['127.0.2.1'];

/** Every address of one IPv4 /24. */
export const ONE_NETWORK: readonly string[] = Array.from({ length: 254 }, (_, index) => `127.0.3.${index + 1}`);

/** One address in each of 300 networks. */
export const MANY_NETWORKS: readonly string[] = Array.from(
  { length: 300 },
  (_, index) => `127.${10 + Math.floor(index / 200)}.${index % 200}.1`,
);

/** The addresses of those who come during an attack, each in a network of its own. */
export const NEWCOMERS: readonly string[] = Array.from({ length: 10 }, (_, index) => `127.20.${index}.1`);

/** The address of an encoder that has published before the attack. */
export const KNOWN_ENCODER = '127.21.0.1';
