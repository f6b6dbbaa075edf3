/**
 * The limit on how much is logged: the last resort that keeps the log from filling a disk, whatever happens.
 */

/** How long an interval of the limit lasts. */
export const LIMIT_INTERVAL_MS = 10_000;
/** How many lines of the same message are written in one interval. */
const MAX_LINES_OF_A_MESSAGE = 100;
/**
 * How many bytes are written in one interval. Six intervals stay below 1 MB, although the last line of each may exceed the limit and
 * the count of dropped lines comes on top.
 */
const MAX_BYTES = 140_000;
/** After this many bytes only the first line of each message is written, so that frequent messages do not displace rare ones. */
const FIRST_LINES_ONLY_BYTES = 100_000;
/** The most messages that are counted separately. The service has fewer. Any others count as one. */
const MAX_MESSAGES = 300;
const OTHER = 'other messages';
/** How many characters of a message are compared, which is enough to distinguish messages. */
const MAX_NAME_LENGTH = 80;

/** Decides for each line whether it may be written. An interval begins with its first line and ends when the owner calls `renew`. */
export class LineLimit {
  readonly #lines = new Map<string, number>();
  #dropped = new Map<string, number>();
  #bytes = 0;

  /** Counts a line with this message, and returns whether it may be written. */
  admits(message: string): boolean {
    const short = message.slice(0, MAX_NAME_LENGTH);
    const name = this.#lines.has(short) || this.#lines.size < MAX_MESSAGES ? short : OTHER;
    const before = this.#lines.get(name) ?? 0;
    const limit = this.#bytes > FIRST_LINES_ONLY_BYTES ? 1 : MAX_LINES_OF_A_MESSAGE;
    this.#lines.set(name, before + 1);
    if (before < limit && this.#bytes < MAX_BYTES) return true;
    this.#dropped.set(name, (this.#dropped.get(name) ?? 0) + 1);
    return false;
  }

  /** Counts the bytes of a line that was written. */
  wrote(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Begins the next interval. @returns how many lines of each message were dropped in the last interval; undefined when none was */
  renew(): Readonly<Record<string, number>> | undefined {
    const dropped = this.#dropped.size === 0 ? undefined : Object.fromEntries(this.#dropped);
    this.#lines.clear();
    this.#dropped = new Map();
    this.#bytes = 0;
    return dropped;
  }
}
