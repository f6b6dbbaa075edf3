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
  /**
   * By the query's text and its parameters, those still under way included. Not by both in one text: that of a query is the same string
   * each time, whose hash is known, while a new one would have to be hashed at every read.
   */
  readonly #answers = new Map<string, Map<string, Promise<unknown>>>();
  #count = 0;

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
    if (version !== this.#version) this.#forget();
    this.#version = version;

    const key = JSON.stringify(query.parameters);
    const known = this.#answers.get(query.sql)?.get(key);
    if (known !== undefined) return known as Promise<Item>;
    if (this.#count >= MAX_ENTRIES) this.#forget();
    const answer = load();
    const answers = this.#answers.get(query.sql) ?? new Map<string, Promise<unknown>>();
    this.#answers.set(query.sql, answers.set(key, answer));
    this.#count += 1;
    answer.catch(() => {
      // What was forgotten meanwhile, or read again, counts no more.
      if (this.#answers.get(query.sql)?.get(key) !== answer) return;
      answers.delete(key);
      this.#count -= 1;
    });
    return answer;
  }

  #forget(): void {
    this.#answers.clear();
    this.#count = 0;
  }
}
