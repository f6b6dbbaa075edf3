/**
 * The exit codes of the command line, and the error that ends it with one.
 */

/** Exit codes; part of the interface, listed by `millrace --help`. */
export const EXIT = {
  ok: 0,
  /** An unexpected error, or a command that cannot be carried out. */
  failed: 1,
  /** Wrong settings or arguments. */
  usage: 2,
  /** The server cannot listen on an address. */
  cannotListen: 3,
  /** The data folder or its database cannot be used. */
  storeUnusable: 4,
} as const;

/** Ends the command line with an exit code after printing sentences to standard error. */
export class Exit extends Error {
  readonly exitCode: number;
  readonly sentences: readonly string[];

  constructor(exitCode: number, sentences: readonly string[], options?: ErrorOptions) {
    super(sentences.join('\n'), options);
    this.name = 'Exit';
    this.exitCode = exitCode;
    this.sentences = sentences;
  }
}

/** Makes the exit for wrong arguments. @param usage the command whose help to refer to, such as `millrace keys` */
export function wrongUsage(sentence: string, usage: string): Exit {
  return new Exit(EXIT.usage, [`${sentence} See ${usage} --help.`]);
}
