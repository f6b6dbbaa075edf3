/**
 * The `Idempotency-Key` of each change whose outcome is not known: it is sent again with the same one, so that it is carried out once.
 */
import { ApiError } from './errors.ts';

/** Whoever sends the same again after this long means another change. */
const KEPT_MS = 600_000;
const MAX_KEPT = 100;

/** The keys. */
export class RepeatKeys {
  readonly #kept = new Map<string, { readonly key: string; readonly until: number }>();
  readonly #now: () => number;

  /** @param now in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Sends a change with its key, which is forgotten as soon as the outcome is known. @param action identifies the change */
  async use<Answer>(action: string, send: (key: string) => Promise<Answer>): Promise<Answer> {
    const known = this.#kept.get(action);
    const key = known !== undefined && this.#now() < known.until ? known.key : randomKey();
    this.#kept.set(action, { key, until: this.#now() + KEPT_MS });
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    try {
      const answer = await send(key);
      this.#kept.delete(action);
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'idempotency_key_reused') throw sentBefore(error);
      if (isRefused(error)) this.#kept.delete(action);
      throw error;
    }
  }
}

/** The server answers a repeat only to whoever sent the first request. The token of a page is another one after some minutes. */
const sentBefore = ({ status, code, requestId }: ApiError): ApiError =>
  new ApiError(
    status,
    code,
    'This was sent before, and its answer was lost. Load the page again to see what became of it.',
    requestId,
  );

/** Whether an error says that nothing was changed. It does not where a proxy answered, and while an earlier request is in progress (409). */
const isRefused = ({ status, code }: ApiError): boolean => ![0, 409, 504].includes(status) && code !== 'unknown';

/** A random text. `crypto.randomUUID` is missing where the connection is not secure. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
