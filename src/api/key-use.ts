/**
 * Notes when API keys were last used: in memory at each use, and in the store once a minute, so that no request waits for it.
 */

import type { ApiKeyId } from '#domain/ids.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Store } from '#store/store.ts';

/** How often the times are written, which is the accuracy of a key's `lastSeen`. */
const WRITE_EVERY_MS = 60_000;
/**
 * The largest number of keys remembered between two writes, also while the store is down. When it is exceeded, the key used longest ago is
 * forgotten.
 */
const MAX_KEYS = 10_000;

/** The keys used since the last write. Disposing it writes their times, so the store must still be open. */
export class KeyUse implements AsyncDisposable {
  readonly #store: Pick<Store, 'apiKeys'>;
  readonly #onUse: (id: ApiKeyId) => void;
  readonly #timer: NodeJS.Timeout;
  #times = new BoundedMap<ApiKeyId, Milliseconds>(MAX_KEYS);

  /** @param onUse called at every use of a key */
  constructor(store: Pick<Store, 'apiKeys'>, onUse: (id: ApiKeyId) => void = () => {}) {
    this.#store = store;
    this.#onUse = onUse;
    this.#timer = setInterval(() => void this.write(), WRITE_EVERY_MS).unref();
  }

  note(id: ApiKeyId, at: Milliseconds): void {
    this.#times.set(id, at);
    this.#onUse(id);
  }

  /** Writes the times. Those that could not be stored are kept for the next write. */
  async write(): Promise<void> {
    if (this.#times.size === 0) return;
    const times = this.#times;
    this.#times = new BoundedMap(MAX_KEYS);
    try {
      await this.#store.apiKeys.seen(times);
    } catch {
      // The store logs its own outage, and nothing else depends on this write.
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
