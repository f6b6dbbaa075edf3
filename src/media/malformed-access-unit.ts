/**
 * The one error that every access unit we cannot make sense of ends in.
 */

/** An access unit's parts do not add up to its bytes. The publisher's fault; the unit cannot be decoded. */
export class MalformedAccessUnitError extends Error {
  readonly code = 'malformed_access_unit';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedAccessUnitError';
  }
}
