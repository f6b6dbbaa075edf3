/**
 * Remembers answers that seldom change, for a while.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '#lib/bounded-map.ts';
import type { Clock } from '#lib/clock.ts';

/** The largest number of remembered answers. When it is exceeded, the one requested longest ago is forgotten. */
const MAX_REMEMBERED = 10_000;
/** How long a caller waits for a new answer when an older one is remembered, because the source may be stuck. */
const NEWER_TIMEOUT_MS = 250;

/** The options of {@link Remembered}. */
export interface RememberedOptions<Key, Answer> {
  /** Requests a new answer. */
  readonly ask: (key: Key) => Promise<Answer>;
  /** How long an answer is valid, in milliseconds. */
  readonly keptForMs: (answer: Answer) => number;
  readonly clock: Clock;
}

interface Entry<Answer> {
  /** Undefined before the first answer. */
  known: { readonly answer: Answer; readonly until: number } | undefined;
  /** The request in progress, which all callers share, and the time at which it began. */
  asking: { readonly answer: Promise<Answer>; readonly since: number } | undefined;
}

/** Answers by key. An old answer is used while no newer one is available. */
export class Remembered<Key, Answer> {
  readonly #options: RememberedOptions<Key, Answer>;
  /** The entry used longest ago comes first. */
  readonly #entries = new BoundedMap<Key, Entry<Answer>>(MAX_REMEMBERED);

  constructor(options: RememberedOptions<Key, Answer>) {
    this.#options = options;
  }

  /** The answer. @throws the error of the request when there was never an answer */
  async get(key: Key): Promise<Answer> {
    const { clock } = this.#options;
    const entry = this.#entries.get(key) ?? this.#add(key);
    const { known } = entry;
    if (known !== undefined && clock.monotonic() < known.until) return known.answer;
    entry.asking ??= { answer: this.#ask(key, entry), since: clock.monotonic() };
    const { answer, since } = entry.asking;
    if (known === undefined) return await answer;
    const timeoutMs = NEWER_TIMEOUT_MS - (clock.monotonic() - since);
    if (timeoutMs <= 0) return known.answer;
    return await Promise.race([answer, sleep(timeoutMs, known.answer, { ref: false })]);
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

  /** Makes the next call request a new answer. */
  expire(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry?.known !== undefined) entry.known = { ...entry.known, until: Number.NEGATIVE_INFINITY };
  }

  #add(key: Key): Entry<Answer> {
    const entry: Entry<Answer> = { known: undefined, asking: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  /** Requests an answer. It never rejects when there is an older answer, which is then valid for as long as a new one. */
  async #ask(key: Key, entry: Entry<Answer>): Promise<Answer> {
    const { ask, keptForMs, clock } = this.#options;
    try {
      const answer = await ask(key);
      entry.known = { answer, until: clock.monotonic() + keptForMs(answer) };
      // Setting the entry again makes it the newest, if it has not been forgotten in the meantime.
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
