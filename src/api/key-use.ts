/**
 * Notes when API keys were last used: in memory first, and in the store once a minute, so that no request waits for it.
 */

import type { ApiKeyId } from '#domain/ids.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Store } from '#store/store.ts';

/** How often the times are written, which is how exact the `lastSeen` of a key is. */
const WRITE_EVERY_MS = 60_000;
/** How many keys are remembered between two writes, also while the store is away. When there are more, the one used longest ago is forgotten. */
const MAX_KEYS = 10_000;

/** The keys used since the last write. Disposing it writes them, so the store must still be open. */
export class KeyUse implements AsyncDisposable {
  readonly #store: Pick<Store, 'apiKeys'>;
  readonly #onUse: (id: ApiKeyId) => void;
  readonly #timer: NodeJS.Timeout;
  #times = new BoundedMap<ApiKeyId, Milliseconds>(MAX_KEYS);

  /** @param onUse is called at every use of a key */
  constructor(store: Pick<Store, 'apiKeys'>, onUse: (id: ApiKeyId) => void = () => {}) {
    this.#store = store;
    this.#onUse = onUse;
    this.#timer = setInterval(() => void this.write(), WRITE_EVERY_MS).unref();
  }

  /** Notes a use of the key. */
  note(id: ApiKeyId, at: Milliseconds): void {
    this.#times.set(id, at);
    this.#onUse(id);
  }

  /** Writes the times. Those that the store does not take are kept for the next write. */
  async write(): Promise<void> {
    if (this.#times.size === 0) return;
    const times = this.#times;
    this.#times = new BoundedMap(MAX_KEYS);
    try {
      await this.#store.apiKeys.seen(times);
    } catch {
      // The store reports that it is away; nothing else depends on this.
      const newer = this.#times;
      this.#times = times;
      for (const [id, at] of newer) times.set(id, at);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
