/**
 * How much may be logged: the last resort that keeps the log from filling a disk, whatever happens.
 */

/** How long lines are counted together. */
export const INTERVAL_MS = 10_000;
/** Lines of the same message in one interval. */
const MAX_LINES_OF_A_MESSAGE = 100;
/** Bytes of all lines in one interval. Six intervals make less than 1 MB, also with the last line and the count of what was dropped. */
const MAX_BYTES = 140_000;
/** Beyond these only the first line of each message is written, so that what is rare is not lost among what is frequent. */
const FIRST_LINES_ONLY_BYTES = 100_000;
/** Messages that are told apart; the service has fewer. All others count as one. */
const MAX_MESSAGES = 300;
const OTHER = 'other messages';
/** Of a message, in characters: enough to tell messages apart. */
const MAX_NAME = 80;

/** Decides line by line. An interval begins with the first line and ends when its owner says so. */
export class LineLimit {
  readonly #lines = new Map<string, number>();
  #dropped = new Map<string, number>();
  #bytes = 0;

  /** Counts a line of a message, and says whether it may be written. */
  admits(message: string): boolean {
    const short = message.slice(0, MAX_NAME);
    const name = this.#lines.has(short) || this.#lines.size < MAX_MESSAGES ? short : OTHER;
    const before = this.#lines.get(name) ?? 0;
    const limit = this.#bytes > FIRST_LINES_ONLY_BYTES ? 1 : MAX_LINES_OF_A_MESSAGE;
    this.#lines.set(name, before + 1);
    if (before < limit && this.#bytes < MAX_BYTES) return true;
    this.#dropped.set(name, (this.#dropped.get(name) ?? 0) + 1);
    return false;
  }

  /** A line was written. */
  wrote(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Begins the next interval. @returns how many lines of each message were dropped in the last one; undefined when none was */
  renew(): Readonly<Record<string, number>> | undefined {
    const dropped = this.#dropped.size === 0 ? undefined : Object.fromEntries(this.#dropped);
    this.#lines.clear();
    this.#dropped = new Map();
    this.#bytes = 0;
    return dropped;
  }
}
