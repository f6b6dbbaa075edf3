/**
 * What is fuzzed: a parser, the inputs to begin with, and what it may do with any others.
 */

/** A parser that is ready to read inputs. */
export interface Reader extends Partial<AsyncDisposable> {
  /**
   * Reads one input. The bytes are overwritten afterwards. What it throws must be of a class the target expects; it throws anything
   * else, an assertion's failure for example, where the parser broke a promise.
   * @returns a number that tells kinds of behaviour apart: an input that leads to a new one is kept and mutated further
   */
  read(input: Buffer): number | Promise<number>;
}

/** One parser as the fuzzer sees it. */
export interface Target {
  /** Of the command line and of the folder of its findings. */
  readonly name: string;
  /** Recorded inputs, at least one. */
  readonly corpus: readonly Uint8Array[];
  /** Bytes that mean something to the parser. */
  readonly dictionary?: readonly (string | Uint8Array)[];
  /** Longest input; {@link DEFAULT_MAX_BYTES} where it is left out. */
  readonly maxBytes?: number;
  /** Errors that the parser is documented to throw. */
  readonly expected?: readonly (abstract new (
    ...args: never
  ) => Error)[];
  /** How many inputs the unit tests try; fewer where one costs much. */
  readonly inputsInTests?: number;
  open(): Reader | Promise<Reader>;
}

/** Long enough for what recorded inputs hold, and short enough to be quick. */
export const DEFAULT_MAX_BYTES = 2048;

/**
 * Holds a parser to a promise. Says what was broken only where it was: to put a sentence together costs more than most parsers.
 * @throws {Error} when the promise was not kept
 */
export function must(isKept: boolean, broken: () => string): void {
  if (!isKept) throw new Error(broken());
}

/** Joins what is known of an outcome into one number. */
export function behaviour(...facts: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const fact of facts) hash = Math.imul(hash ^ (fact | 0), 0x01000193);
  return hash;
}

/** The magnitude of a count or a size: the number of its bits. */
export function magnitude(value: number): number {
  return 32 - Math.clz32(value);
}
