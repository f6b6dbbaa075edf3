/**
 * A target of the fuzzer: a parser, the inputs to begin with, and the promises that the parser keeps for all inputs.
 */

/** A parser that is ready to read inputs. */
export interface Reader extends Partial<AsyncDisposable> {
  /**
   * Reads one input, whose bytes are overwritten afterwards. An error of a class that the target expects means that the input was refused.
   * Any other error, such as a failed assertion, means that the parser broke a promise.
   * @returns a number that tells kinds of behaviour apart: an input with a new number is kept and mutated further
   */
  read(input: Buffer): number | Promise<number>;
}

/** One parser as the fuzzer sees it. */
export interface Target {
  /** Names the target on the command line, and the folder of its findings. */
  readonly name: string;
  /** Recorded inputs, at least one. */
  readonly corpus: readonly Uint8Array[];
  /** Sequences of bytes that mean something to the parser. */
  readonly dictionary?: readonly (string | Uint8Array)[];
  /** The longest input in bytes; {@link DEFAULT_MAX_BYTES} when left out. */
  readonly maxBytes?: number;
  /** Errors that the parser is documented to throw. */
  readonly expected?: readonly (abstract new (
    ...args: never
  ) => Error)[];
  /** How many inputs the unit tests try, where an input takes longer than usual. */
  readonly inputsInTests?: number;
  /** Makes the parser ready. */
  open(): Reader | Promise<Reader>;
}

/** The longest input by default: enough for recorded inputs, and short enough to be read quickly. */
export const DEFAULT_MAX_BYTES = 2048;

/**
 * Checks a promise of a parser.
 * @param broken makes the error message; called only when needed, because making one takes longer than most parsers do
 * @throws {Error} when the promise was not kept
 */
export function must(isKept: boolean, broken: () => string): void {
  if (!isKept) throw new Error(broken());
}

/** Combines what is known of an outcome into one number. */
export function behaviour(...facts: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const fact of facts) hash = Math.imul(hash ^ (fact | 0), 0x01000193);
  return hash;
}

/** The magnitude of a count or a size: the number of its bits. */
export function magnitude(value: number): number {
  return 32 - Math.clz32(value);
}
