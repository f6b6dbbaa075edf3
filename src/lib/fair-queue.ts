/**
 * A queue in which networks take turns, so that whoever adds the most waits the longest.
 */

/**
 * Items in the order they were added within each network, and one of each network in turn. Every call takes constant time,
 * however many networks there are. It has no limit of its own: whoever adds to it bounds what waits.
 */
export class FairQueue<Item> {
  /** What waits of each network. The network whose turn is next comes first. */
  readonly #byNetwork = new Map<string, Set<Item>>();
  #size = 0;

  /** Items that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds an item behind those of its network. An item that waits already stays where it is.
   * @param network whom it counts for
   */
  add(network: string, item: Item): void {
    const items = this.#byNetwork.get(network) ?? new Set();
    if (items.has(item)) return;
    this.#byNetwork.set(network, items.add(item));
    this.#size += 1;
  }

  /** Takes the oldest item of the network whose turn it is. Undefined when nothing waits. */
  take(): Item | undefined {
    for (const [network, items] of this.#byNetwork) {
      const item = items.values().next().value as Item;
      items.delete(item);
      this.#size -= 1;
      // Its next turn comes after everybody else's.
      this.#byNetwork.delete(network);
      if (items.size > 0) this.#byNetwork.set(network, items);
      return item;
    }
    return undefined;
  }
}
