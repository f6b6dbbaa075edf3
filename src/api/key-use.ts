/**
 * When API keys were last used: noted in memory, written now and then, so that no request waits for it.
 */
import type { ApiKeyId } from '#domain/ids.ts';
import type { Milliseconds } from '#lib/units.ts';
import type { Store } from '#store/store.ts';

/** How exact `lastSeen` of a key is. */
const WRITE_EVERY_MS = 60_000;
/** Keys remembered between two writes, also while the store is away; beyond it the one noted first is forgotten. */
const MAX_KEYS = 10_000;

/** The keys used since the last write. Disposing it writes what is left; the store must still be open. */
export class KeyUse implements AsyncDisposable {
  readonly #store: Pick<Store, 'apiKeys'>;
  readonly #onUse: (id: ApiKeyId) => void;
  readonly #timer: NodeJS.Timeout;
  #times = new Map<ApiKeyId, Milliseconds>();

  /** @param onUse is called at every use of a key */
  constructor(store: Pick<Store, 'apiKeys'>, onUse: (id: ApiKeyId) => void = () => {}) {
    this.#store = store;
    this.#onUse = onUse;
    this.#timer = setInterval(() => void this.write(), WRITE_EVERY_MS).unref();
  }

  /** The key was used. */
  note(id: ApiKeyId, at: Milliseconds): void {
    this.#remember(id, at);
    this.#onUse(id);
  }

  #remember(id: ApiKeyId, at: Milliseconds): void {
    if (this.#times.size >= MAX_KEYS && !this.#times.has(id)) {
      const oldest = this.#times.keys().next();
      if (!oldest.done) this.#times.delete(oldest.value);
    }
    this.#times.set(id, at);
  }

  /** Writes what was noted; what the store does not take is kept for the next time. */
  async write(): Promise<void> {
    if (this.#times.size === 0) return;
    const times = this.#times;
    this.#times = new Map();
    try {
      await this.#store.apiKeys.seen(times);
    } catch {
      // The store reports that it is away; nothing else depends on this.
      const newer = this.#times;
      this.#times = times;
      for (const [id, at] of newer) this.#remember(id, at);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
