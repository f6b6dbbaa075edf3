/**
 * The error for every access unit that must not reach a decoder.
 */

/** An access unit is broken, or contains a parameter set or a frame that is not acceptable. The publisher is at fault. */
export class MalformedAccessUnitError extends Error {
  readonly code = 'malformed_access_unit';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedAccessUnitError';
  }
}
