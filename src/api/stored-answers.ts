/**
 * Limits the room that the answers stored for repeats of a user's requests take in the database.
 */
import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { type BucketLevel, type BucketSize, QuotaBuckets } from '#lib/token-buckets.ts';
import { ANSWERS_KEPT_MS } from '#store/receipt.ts';

/** The KiB of answers that a user may store at once. The same amount comes back evenly over the time for which answers are kept. */
const MAX_KIB = 128 * 1024;
/** The approximate size of a row without its answer, and with its index entries. */
const ROW_BYTES = 512;

/**
 * Counts the room of the answers that this process stores, in KiB and at least one for each. The room of an answer comes back while the
 * answer grows old, so a process stores at most twice {@link MAX_KIB} of a user. A process that is restarted counts from zero.
 */
export class StoredAnswers {
  readonly #buckets: QuotaBuckets;
  readonly #size: BucketSize;

  /** @param kib the room of each user */
  constructor(clock: Clock, kib = MAX_KIB) {
    this.#buckets = new QuotaBuckets(clock);
    this.#size = { atOnce: kib, perMinute: kib / (ANSWERS_KEPT_MS / 60_000) };
  }

  /** Takes the room of the smallest answer, if the user has any left. */
  take(userId: UserId): BucketLevel {
    return this.#buckets.take(userId, this.#size);
  }

  /** Takes the rest of the room of an answer, even if less is left. @returns the KiB of the whole answer */
  grow(userId: UserId, sealed: string): number {
    const kib = Math.ceil((ROW_BYTES + sealed.length) / 1024);
    this.#buckets.spend(userId, kib - 1, this.#size);
    return kib;
  }

  /** Gives back the room of an answer that is not stored. */
  giveBack(userId: UserId, kib: number): void {
    this.#buckets.giveBack(userId, kib);
  }
}
