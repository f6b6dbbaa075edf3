/**
 * How many rows of a kind a user may have, asked at every create without counting them every time.
 *
 * After a count, a share of the room that was left may be used up before the rows are counted again: a 32nd, so that up to 32
 * processes that count at the same time cannot overfill it together. Near the limit each create counts. Within one process a quota is
 * therefore exact. Processes that create at the same moment may exceed it by one each, and by a 32nd of it each when a user fills it up
 * from several of them within {@link COUNT_KEPT_MS}.
 */
import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The share of what is left that may be used up without counting again. */
const SHARE_OF_ROOM = 32;
/** How long a count is good for, since other processes create and delete as well. */
const COUNT_KEPT_MS = 1000;
/** Users remembered; of more, the one that was counted first is counted anew. */
const MAX_USERS = 10_000;

/** What is known of one user. */
interface UserRows {
  /** Creates that need no count, until {@link UserRows.countedAt} is too long ago. */
  granted: number;
  countedAt: Milliseconds;
  readonly creating: Set<Promise<unknown>>;
  /** The count under way; gives how many more there may be. */
  counting: Promise<number> | undefined;
}

/** The quota of one kind of row. */
export class RowQuota {
  readonly #what: string;
  readonly #count: (user: UserId, atMost: number) => Promise<number>;
  readonly #clock: Clock;
  readonly #users = new Map<UserId, UserRows>();

  /**
   * @param options.what of what there may be so many, as people say it: `streams`
   * @param options.count counts a user's rows, no further than `atMost`
   */
  constructor(options: {
    readonly what: string;
    readonly count: (user: UserId, atMost: number) => Promise<number>;
    readonly clock: Clock;
  }) {
    this.#what = options.what;
    this.#count = options.count;
    this.#clock = options.clock;
  }

  /**
   * Creates a row, if the user may have one more.
   * @param atMost how many the user may have; 0 = any number
   * @throws {MillraceError} `quota_exceeded`
   */
  async create(user: UserId, atMost: number, create: () => Promise<void>): Promise<void> {
    if (atMost === 0) return create();
    const rows = this.#rowsOf(user);
    while (rows.granted === 0 || this.#clock.monotonic() - rows.countedAt >= COUNT_KEPT_MS) {
      rows.counting ??= this.#recount(user, rows, atMost).finally(() => {
        rows.counting = undefined;
      });
      if ((await rows.counting) > 0) continue;
      throw new MillraceError(
        'quota_exceeded',
        `You have ${atMost} ${this.#what}, as many as you may; delete some first, or ask an admin for more.`,
      );
    }
    rows.granted -= 1;
    const creating = create();
    rows.creating.add(creating);
    try {
      await creating;
    } finally {
      rows.creating.delete(creating);
    }
  }

  /** Waits for the creates under way, so that the count has them, or has them not for good. */
  async #recount(user: UserId, rows: UserRows, atMost: number): Promise<number> {
    rows.granted = 0;
    await Promise.allSettled(rows.creating);
    const room = Math.max(0, atMost - (await this.#count(user, atMost)));
    rows.granted = room === 0 ? 0 : Math.max(1, Math.floor(room / SHARE_OF_ROOM));
    rows.countedAt = this.#clock.monotonic();
    return room;
  }

  #rowsOf(user: UserId): UserRows {
    const known = this.#users.get(user);
    if (known !== undefined) return known;
    if (this.#users.size >= MAX_USERS) {
      const oldest = this.#users.keys().next();
      if (!oldest.done) this.#users.delete(oldest.value);
    }
    const rows: UserRows = { granted: 0, countedAt: this.#clock.monotonic(), creating: new Set(), counting: undefined };
    this.#users.set(user, rows);
    return rows;
  }
}
