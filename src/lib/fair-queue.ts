/**
 * A queue in which networks take turns, so that the network that adds the most waits the longest. The text that stands for a network may as
 * well be the id of a user.
 */

/**
 * Gives one item of each network in turn, and the items of one network in the order they were added. Every call takes constant time,
 * however many networks there are. It has no limit of its own: its owner must bound the number of items.
 */
export class FairQueue<Item> {
  /** The waiting items of each network. The network whose turn is next comes first. */
  readonly #byNetwork = new Map<string, Set<Item>>();
  #size = 0;

  /** The number of waiting items. */
  get size(): number {
    return this.#size;
  }

  /** The number of networks with waiting items. */
  get networks(): number {
    return this.#byNetwork.size;
  }

  /** The number of waiting items of a network. */
  countOf(network: string): number {
    return this.#byNetwork.get(network)?.size ?? 0;
  }

  /**
   * Adds an item after the others of its network. An item that waits already keeps its place.
   * @param network the network that it counts for
   */
  add(network: string, item: Item): void {
    const items = this.#byNetwork.get(network) ?? new Set();
    if (items.has(item)) return;
    this.#byNetwork.set(network, items.add(item));
    this.#size += 1;
  }

  /** Removes an item before its turn. Does nothing when it does not wait. */
  remove(network: string, item: Item): void {
    const items = this.#byNetwork.get(network);
    if (items?.delete(item) !== true) return;
    this.#size -= 1;
    if (items.size === 0) this.#byNetwork.delete(network);
  }

  /** Takes the oldest item of a network out of its turn. Undefined when none waits. */
  takeOf(network: string): Item | undefined {
    const item = this.#byNetwork.get(network)?.values().next().value;
    if (item !== undefined) this.remove(network, item);
    return item;
  }

  /** Takes the oldest item of the network whose turn it is. Undefined when nothing waits. */
  take(): Item | undefined {
    for (const [network, items] of this.#byNetwork) {
      const item = items.values().next().value as Item;
      items.delete(item);
      this.#size -= 1;
      if (items.size > 0 && this.#byNetwork.size === 1) return item;
      // The network's next turn comes after all others.
      this.#byNetwork.delete(network);
      if (items.size > 0) this.#byNetwork.set(network, items);
      return item;
    }
    return undefined;
  }
}
