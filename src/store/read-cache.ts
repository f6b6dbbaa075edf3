/**
 * Answers a read from memory while nothing has been committed since, so that repeated reads, such as the API key of every request, do not
 * wake a database thread.
 */
import type { Soon } from '#lib/soon.ts';
import type { Query, SqlValue } from './engine.ts';

/** The largest number of answers. When it is exceeded, all are forgotten. A stream with all its profiles takes about 10 kB. */
const MAX_ENTRIES = 1000;

/** The answers read from one database. Callers share them, and must not change them. */
export class ReadCache {
  readonly #currentVersion: () => number | undefined;
  /** The version that {@link ReadCache.#answers} belong to. */
  #version: number | undefined;
  /**
   * Answers by the text of the query and then by its parameters, including reads in progress. The two are not joined into one key, because
   * the text of a query is always the same string object, whose hash is known, while a joined key would be hashed at every read.
   */
  readonly #answers = new Map<string, Map<SqlValue, Soon<unknown>>>();
  #count = 0;

  /** @param currentVersion returns the version of the database. It is called at every read, and may keep its result for one run of code */
  constructor(currentVersion: () => number | undefined) {
    this.#currentVersion = currentVersion;
  }

  /**
   * The answer to a query if it is remembered, otherwise a promise of it. It is as new as one read when the current run of code began.
   * Of two equal reads, the second gets the answer of the first if no commit was seen between the two calls. A failed read is not kept.
   * @param load reads the answer; it is called at once or not at all. The same query must always come with the same function
   */
  get<Item>(query: Query, load: () => Promise<Item>): Soon<Item> {
    // The version is asked for before reading, because the answer may be newer than the version it is kept under, but never older.
    const version = this.#currentVersion();
    if (version === undefined) return load();
    if (version !== this.#version) this.#forget();
    this.#version = version;

    const { parameters } = query;
    // All reads with the same text have equally many parameters, so the two forms of a key never meet.
    const key = parameters.length === 1 ? (parameters[0] as SqlValue) : JSON.stringify(parameters);
    const remembered = this.#answers.get(query.sql);
    const known = remembered?.get(key);
    if (known !== undefined || remembered?.has(key)) return known as Soon<Item>;
    if (this.#count >= MAX_ENTRIES) this.#forget();
    const answer = load();
    const answers = this.#answers.get(query.sql) ?? new Map<SqlValue, Soon<unknown>>();
    this.#answers.set(query.sql, answers.set(key, answer));
    this.#count += 1;
    /** Whether the entry was neither removed nor replaced in the meantime. */
    const isKept = () => this.#answers.get(query.sql)?.get(key) === answer;
    answer.then(
      (item) => {
        if (isKept()) answers.set(key, item);
      },
      () => {
        if (!isKept()) return;
        answers.delete(key);
        this.#count -= 1;
      },
    );
    return answer;
  }

  #forget(): void {
    this.#answers.clear();
    this.#count = 0;
  }
}
