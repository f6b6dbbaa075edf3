/**
 * The shelves of stream-key hashes, which keep the cost of adding a stream constant among millions.
 *
 * Hashes are random, so in one index each new hash would change a page of its own, and every changed page is written to the disk. Therefore
 * the index begins with the shelf. A process puts consecutive streams on one shelf and then takes the next, so that their hashes share
 * pages in one 128th of the index. A lookup asks for the key on every shelf at once. Measurements and alternatives are in
 * `docs/decisions/0010-a-million-streams.md`.
 */

/** The names of the shelves: two hex digits, which are put before the hash. */
const SHELVES = Array.from({ length: 128 }, (_, index) => index.toString(16).padStart(2, '0'));

/** The number of hashes on one shelf before the next one is taken. */
const RUN_LENGTH = 4096;

/** Assigns hashes to shelves, for one process. */
export class KeyShelves {
  #shelf = Math.floor(Math.random() * SHELVES.length);
  #left = RUN_LENGTH;

  /** The hash with its shelf, in the form to be stored. */
  put(hash: string): string {
    if (this.#left === 0) {
      this.#shelf = (this.#shelf + 1) % SHELVES.length;
      this.#left = RUN_LENGTH;
    }
    this.#left -= 1;
    return SHELVES[this.#shelf] + hash;
  }
}

/** The hash on every shelf, for lookups. */
export const onEveryShelf = (hash: string): readonly string[] => SHELVES.map((shelf) => shelf + hash);
