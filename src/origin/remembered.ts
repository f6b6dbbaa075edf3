/**
 * Answers that change seldom, remembered for a while.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';

/** Beyond so many the one asked for the longest ago is forgotten. */
const MAX_REMEMBERED = 10_000;
/** Who asks for what is remembered, but old, waits this long for a newer answer; whoever answers may be stuck. */
const PATIENCE_MS = 250;

/** What remembering takes. */
export interface RememberedOptions<Key, Answer> {
  /** Finds the answer anew. */
  readonly ask: (key: Key) => Promise<Answer>;
  /** How long an answer counts, in milliseconds. */
  readonly keptForMs: (answer: Answer) => number;
  readonly clock: Clock;
}

interface Entry<Answer> {
  /** Undefined before there is one. */
  known: { readonly answer: Answer; readonly until: number } | undefined;
  /** The question under way, shared by all who ask meanwhile, and since when. */
  asking: { readonly answer: Promise<Answer>; readonly since: number } | undefined;
}

/** Answers by key. One that was there before still counts while there is no newer one to be had. */
export class Remembered<Key, Answer> {
  readonly #options: RememberedOptions<Key, Answer>;
  /** The longest ago first. */
  readonly #entries = new BoundedMap<Key, Entry<Answer>>(MAX_REMEMBERED);

  constructor(options: RememberedOptions<Key, Answer>) {
    this.#options = options;
  }

  /** The answer. @throws what asking throws, when there was never one */
  async get(key: Key): Promise<Answer> {
    const { clock } = this.#options;
    const entry = this.#entries.get(key) ?? this.#add(key);
    const { known } = entry;
    if (known !== undefined && clock.monotonic() < known.until) return known.answer;
    entry.asking ??= { answer: this.#ask(key, entry), since: clock.monotonic() };
    const { answer, since } = entry.asking;
    if (known === undefined) return await answer;
    const patienceMs = PATIENCE_MS - (clock.monotonic() - since);
    if (patienceMs <= 0) return known.answer;
    return await Promise.race([answer, sleep(patienceMs, known.answer, { ref: false })]);
  }

  /** Whether there is an answer for this key, however old. */
  has(key: Key): boolean {
    return this.#entries.get(key)?.known !== undefined;
  }

  /** Remembers an answer that was found in another way. */
  set(key: Key, answer: Answer): void {
    const entry = this.#entries.get(key) ?? this.#add(key);
    entry.known = { answer, until: this.#options.clock.monotonic() + this.#options.keptForMs(answer) };
  }

  /** The answer is to be found anew the next time. */
  expire(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry?.known !== undefined) entry.known = { ...entry.known, until: Number.NEGATIVE_INFINITY };
  }

  #add(key: Key): Entry<Answer> {
    const entry: Entry<Answer> = { known: undefined, asking: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Never rejects where there is an older answer, which then counts as long as a new one would. */
  async #ask(key: Key, entry: Entry<Answer>): Promise<Answer> {
    const { ask, keptForMs, clock } = this.#options;
    try {
      const answer = await ask(key);
      entry.known = { answer, until: clock.monotonic() + keptForMs(answer) };
      // Setting it again makes it the newest, if it has not been forgotten meanwhile.
      if (this.#entries.has(key)) this.#entries.set(key, entry);
      return answer;
    } catch (error) {
      const { known } = entry;
      if (known === undefined) {
        this.#entries.delete(key);
        throw error;
      }
      entry.known = { ...known, until: clock.monotonic() + keptForMs(known.answer) };
      return known.answer;
    } finally {
      entry.asking = undefined;
    }
  }
}
