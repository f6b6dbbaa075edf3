/**
 * Answers a read from memory while nothing has been committed since, so that what is asked again and again (the API key of every
 * request) wakes no thread of the database.
 */
import type { Query } from './engine.ts';

/** Answers kept; when there are more, all are forgotten and read again. A stream with all its profiles is about 10 kB. */
const MAX_ENTRIES = 1000;

/** What was read from one database. Callers share the answers, and must not change them. */
export class ReadCache {
  readonly #currentVersion: () => number | undefined;
  /** Of which version {@link ReadCache.#answers} are. */
  #version: number | undefined;
  /** By query and parameters, those still under way included. */
  readonly #answers = new Map<string, Promise<unknown>>();

  /** @param currentVersion of the database, as engines tell it: asked at every read */
  constructor(currentVersion: () => number | undefined) {
    this.#currentVersion = currentVersion;
  }

  /**
   * The answer to a query, which is as new as one read now: of two who ask the same, the second gets the answer of the first when
   * nothing was committed between their asking. A failed read is not kept.
   * @param load reads it; called at once or not at all. The same query must always come with the same way to read it.
   */
  get<Item>(query: Query, load: () => Promise<Item>): Promise<Item> {
    // Asked before reading: what is read can only be newer than the version it is kept under.
    const version = this.#currentVersion();
    if (version === undefined) return load();
    if (version !== this.#version) this.#answers.clear();
    this.#version = version;

    const key = JSON.stringify([query.sql, query.parameters]);
    const known = this.#answers.get(key);
    if (known !== undefined) return known as Promise<Item>;
    if (this.#answers.size >= MAX_ENTRIES) this.#answers.clear();
    const answer = load();
    this.#answers.set(key, answer);
    answer.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer;
  }
}
