/**
 * Limits the room that the answers stored for repeats of a user's requests take in the database.
 */
import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import { type BucketSize, QuotaBuckets } from '#lib/token-buckets.ts';
import { MINUTE_MS } from '#lib/units.ts';
import { ANSWERS_KEPT_MS } from '#store/receipt.ts';
import type { Caller } from './authenticate.ts';

/** The KiB of answers that a user may store at once. The same amount comes back evenly over the time for which answers are kept. */
const MAX_KIB = 128 * 1024;
/** The approximate size of a row without its answer, and with its index entries. */
const ROW_BYTES = 512;

/** The room that one answer takes: at first that of the smallest answer. */
export interface AnswerRoom {
  /** Takes the rest of the room that the answer needs, even if the user has less left. */
  grow(sealed: string): void;
  /** Gives the room back, because the answer is not stored. */
  giveBack(): void;
}

/** The room of an answer to an admin, who has no quotas. */
const UNLIMITED: AnswerRoom = { grow: () => {}, giveBack: () => {} };

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
    this.#size = { atOnce: kib, perMinute: kib / (ANSWERS_KEPT_MS / MINUTE_MS) };
  }

  /** Takes room for an answer to a user. `room` is undefined when none is left. */
  take({ userId, isAdmin }: Pick<Caller, 'userId' | 'isAdmin'>): { room: AnswerRoom | undefined; retryAfterS: number } {
    if (isAdmin) return { room: UNLIMITED, retryAfterS: 0 };
    const { allowed, retryAfterS } = this.#buckets.take(userId, this.#size);
    return { room: allowed ? this.#roomOf(userId) : undefined, retryAfterS };
  }

  #roomOf(userId: UserId): AnswerRoom {
    let kib = 1;
    return {
      grow: (sealed) => {
        kib = Math.ceil((ROW_BYTES + sealed.length) / 1024);
        this.#buckets.spend(userId, kib - 1, this.#size);
      },
      giveBack: () => this.#buckets.giveBack(userId, kib),
    };
  }
}
