/**
 * Counts the usage of this process, by hour and stream.
 *
 * The values of an hour only grow. They are stored as totals, with the hour and an id of their counter as the key. So a write that is
 * repeated because its outcome was unknown counts nothing twice.
 */
import { randomUUID } from 'node:crypto';
import type { PlaybackId } from '#domain/ids.ts';
import { type HourOfUsage, NO_USAGE, USAGE_COUNTERS, type UsageCounter, type UsageCounts } from '#domain/usage.ts';
import { HOUR_MS, type Milliseconds, ms } from '#lib/units.ts';

/**
 * The most entries, one for each hour and stream. When there are as many, streams without an entry are not counted until some are stored.
 */
const MAX_ENTRIES = 50_000;

interface Entry {
  /** Changed in place, because bytes are counted at every request for media. */
  readonly counts: Record<UsageCounter, number>;
  /** Whether it grew since it was last handed out. */
  isChanged: boolean;
}

/** The counter of one hour. A counter that was forgotten is not continued: when the clock is set back into its hour, another one begins. */
interface Hour {
  readonly countedBy: string;
  readonly entries: Map<PlaybackId, Entry>;
}

/** The usage that one process has counted. */
export class UsageBook {
  readonly #hours = new Map<Milliseconds, Hour>();
  #size = 0;

  /** Adds usage to the hour of `now`. */
  count(playbackId: PlaybackId, counts: Partial<UsageCounts>, now: Milliseconds): void {
    const hour = ms(now - (now % HOUR_MS));
    let counter = this.#hours.get(hour);
    if (counter === undefined) {
      counter = { countedBy: randomUUID(), entries: new Map() };
      this.#hours.set(hour, counter);
    }
    const { entries } = counter;
    let entry = entries.get(playbackId);
    if (entry === undefined) {
      if (this.#size >= MAX_ENTRIES) return;
      entry = { counts: { ...NO_USAGE }, isChanged: true };
      entries.set(playbackId, entry);
      this.#size += 1;
    }
    for (const name of USAGE_COUNTERS) entry.counts[name] += counts[name] ?? 0;
    entry.isChanged = true;
  }

  /** Returns the totals that have changed since they were last taken. The caller stores them, or gives them back. */
  take(): readonly HourOfUsage[] {
    const taken: HourOfUsage[] = [];
    for (const [hour, { countedBy, entries }] of this.#hours) {
      for (const [playbackId, entry] of entries) {
        if (!entry.isChanged) continue;
        entry.isChanged = false;
        const { counts } = entry;
        taken.push({ hour, playbackId, countedBy, counts: roundedDown(counts) });
      }
    }
    return taken;
  }

  /** Takes back totals that could not be stored, so that they are taken again. */
  giveBack(taken: readonly HourOfUsage[]): void {
    for (const { hour, playbackId } of taken) {
      const entry = this.#hours.get(hour)?.entries.get(playbackId);
      if (entry !== undefined) entry.isChanged = true;
    }
  }

  /** Forgets the hours that ended before `now` and whose totals were all taken. */
  forgetBefore(now: Milliseconds): void {
    for (const [hour, { entries }] of this.#hours) {
      if (hour + HOUR_MS > now || entries.values().some(({ isChanged }) => isChanged)) continue;
      this.#hours.delete(hour);
      this.#size -= entries.size;
    }
  }
}

const roundedDown = (counts: UsageCounts): UsageCounts =>
  Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, Math.floor(value)])) as UsageCounts;
