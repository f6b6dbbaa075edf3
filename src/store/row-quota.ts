/**
 * Limits how many rows of a kind a user may have, without counting them at every create.
 *
 * After a count, a 32nd of the remaining room may be used before the rows are counted again, so that up to 32 processes that count at the
 * same time cannot exceed the quota together. Near the limit every create counts. Within one process the quota is therefore exact.
 * Processes that create at the same moment may exceed it by one row each, and by a 32nd of the quota each when a user fills it through
 * several of them within {@link COUNT_KEPT_MS}.
 */

import { MillraceError } from '#domain/errors.ts';
import type { UserId } from '#domain/ids.ts';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';
import type { Milliseconds } from '#lib/units.ts';

/** The part of the remaining room that may be used without counting again: one in 32. */
const SHARE_OF_ROOM = 32;
/** How long a count is valid. Other processes create and delete rows as well. */
const COUNT_KEPT_MS = 1000;
/** The largest number of remembered users. When it is exceeded, the oldest entry is forgotten, and its user's rows are counted again. */
const MAX_USERS = 10_000;

/** The known numbers of one user's rows. */
interface UserRows {
  /** The number of creates that need no count while the last count is valid. */
  granted: number;
  /** The monotonic time of the last count. */
  countedAt: Milliseconds;
  readonly creating: Set<Promise<unknown>>;
  /** The count in progress, which gives how many more rows the user may have. */
  counting: Promise<number> | undefined;
}

/** The limit on the rows of a user when another one is created. */
export interface RowLimit {
  /** The quota. 0 means no limit. */
  readonly atMost?: number;
}

/** Keeps users within their quota of one kind of row. */
export class RowQuota {
  readonly #what: string;
  readonly #count: (user: UserId, atMost: number) => Promise<number>;
  readonly #clock: Clock;
  readonly #users = new BoundedMap<UserId, UserRows>(MAX_USERS);

  /**
   * @param options.what the kind of row in error texts, such as `streams`
   * @param options.count counts a user's rows up to `atMost`
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
   * @param atMost the largest number of rows that the user may have; 0 means no limit
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
        `You have ${atMost} ${this.#what}, which is your limit; delete some first, or ask an admin for a larger limit.`,
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

  /** Counts the rows after the running creates have ended, so that none of them is missed. @returns how many more rows there may be */
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
    const rows: UserRows = { granted: 0, countedAt: this.#clock.monotonic(), creating: new Set(), counting: undefined };
    this.#users.set(user, rows);
    return rows;
  }
}
