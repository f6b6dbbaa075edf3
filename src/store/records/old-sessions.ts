/**
 * Deletes sessions that were kept long enough. A session is kept for as long as its recording, so any number of old sessions may have to be
 * passed over. They are read window by window, and a write gets only a window in which there is something to delete, because with SQLite
 * all other writes wait for it. The windows that were read are passed over at once for an hour.
 */
import type { Clock } from '#lib/clock.ts';
import type { PageKey } from '#store/page.ts';

/** The largest number of sessions that one query looks at. */
const WINDOW = 1000;
/** The largest number of windows in one call, so that it ends soon. */
const WINDOWS_A_CALL = 50;
/** How long sessions with a recording are passed over. When the recording is deleted, its session is deleted at most this much later. */
const PASSED_OVER_MS = 3_600_000;

/** Old sessions in the order in which they are deleted. A window begins after a key, and ends with another one or with the list. */
export interface OldSessionList {
  /** Identifies the list. */
  readonly name: string;
  /** The key of the session that comes `skip` places after the first one of a window. Undefined when the list ends before it. */
  readonly nth: (after: PageKey | undefined, skip: number) => Promise<PageKey | undefined>;
  /** Whether a window has a session without a recording. */
  readonly hasAny: (after: PageKey | undefined, until: PageKey | undefined) => Promise<boolean>;
  /** Deletes sessions without a recording in a window. Returns how many, or `limit` when another call may find more. */
  readonly deleteSome: (after: PageKey | undefined, until: PageKey | undefined, limit: number) => Promise<number>;
}

/** Deletes old sessions, and remembers which ones are passed over. */
export class OldSessions {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** For each list, the end of the windows that are passed over. */
  readonly #passed = new Map<string, PageKey>();
  /** When all these ends are forgotten, by the monotonic clock. */
  #forgetAt: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#forgetAt = clock.monotonic() + PASSED_OVER_MS;
  }

  /** Deletes the first sessions of a list that have no recording. Returns how many, or `limit` when another call may find more. */
  async delete(list: OldSessionList, limit: number): Promise<number> {
    this.#forget();
    let deleted = 0;
    for (let windows = 0; windows < WINDOWS_A_CALL; windows += 1) {
      const after = this.#passed.get(list.name);
      const until = await list.nth(after, WINDOW - 1);
      if (await list.hasAny(after, until)) deleted += await list.deleteSome(after, until, limit - deleted);
      if (deleted >= limit) return limit;
      if (until === undefined) return deleted;
      this.#passed.set(list.name, until);
    }
    return limit;
  }

  #forget(): void {
    const now = this.#clock.monotonic();
    if (now < this.#forgetAt) return;
    this.#passed.clear();
    this.#forgetAt = now + PASSED_OVER_MS;
  }
}
