/**
 * A map that never grows beyond its limit, for entries that anybody can cause.
 */

/**
 * A map that forgets the entry that was set longest ago when a new one would exceed its limit. Its entries are in the order they were set.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number;
  /** The key that was set last. */
  #newest: Key | undefined;

  /** @param limit the most entries, at least 1 */
  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  /** Sets a value, and makes its entry the newest. When the map is full, the oldest entries are removed. */
  override set(key: Key, value: Value): this {
    // An entry that already is the newest keeps its place. Deleting the only entry would make the map allocate its table anew.
    if (key === this.#newest && this.has(key)) return super.set(key, value);
    this.#newest = key;
    this.delete(key);
    for (const oldest of this.keys()) {
      if (this.size < this.#limit) break;
      this.delete(oldest);
    }
    return super.set(key, value);
  }
}
