/**
 * The shelves on which the hashes of stream keys are kept, so that adding one costs the same among millions.
 *
 * Hashes are random: in one index each new one would land on a page of its own, and every page is written back. The index leads with
 * the shelf; a process puts the streams it makes in a row on one shelf and then takes the next, so neighbours in time are neighbours
 * in one 128th of the index. Whoever looks a key up asks every shelf at once.
 * Measured, with what else was tried: `docs/decisions/0010-a-million-streams.md`.
 */

/** Their names: two digits, which stand before the hash. */
const SHELVES = Array.from({ length: 128 }, (_, index) => index.toString(16).padStart(2, '0'));

/** How many hashes go on one before the next is taken. */
const RUN_LENGTH = 4096;

/** Where one process puts hashes. */
export class KeyShelves {
  #shelf = Math.floor(Math.random() * SHELVES.length);
  #left = RUN_LENGTH;

  /** A hash as it is stored from now on. */
  put(hash: string): string {
    if (this.#left === 0) {
      this.#shelf = (this.#shelf + 1) % SHELVES.length;
      this.#left = RUN_LENGTH;
    }
    this.#left -= 1;
    return SHELVES[this.#shelf] + hash;
  }
}

/** Every way a hash may be stored. */
export const onEveryShelf = (hash: string): readonly string[] => SHELVES.map((shelf) => shelf + hash);
