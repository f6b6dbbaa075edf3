/**
 * Keeps the `Idempotency-Key` of each change whose outcome is not known. When the user sends such a change again, it has the same key, so
 * that the server carries it out only once.
 */
import { ApiError } from './errors.ts';

/** How long a key is kept, in milliseconds. A user who sends the same again after a longer time means another change. */
const KEPT_MS = 600_000;
const MAX_KEPT = 100;

/** The keys of changes whose outcome is not known. */
export class RepeatKeys {
  readonly #kept = new Map<string, { readonly key: string; readonly until: number }>();
  readonly #now: () => number;

  /** @param now in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Sends a change with its key. The key is forgotten as soon as the outcome is known.
   * @param action identifies the change: equal changes have the same text
   */
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

/** The error for a repeat with another token. The server repeats an answer only for the same token, and a page renews its token. */
const sentBefore = ({ status, code, requestId }: ApiError): ApiError =>
  new ApiError(
    status,
    code,
    'This was sent before, and its answer was lost. Load the page again to see what became of it.',
    requestId,
  );

/** Whether an error means that nothing was changed. An error of a proxy does not, nor does 409 while a request is in progress. */
const isRefused = ({ status, code }: ApiError): boolean => ![0, 409, 504].includes(status) && code !== 'unknown';

/** A random text. `crypto.randomUUID` is missing where the connection is not secure. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
