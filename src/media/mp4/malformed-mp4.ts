/**
 * The error for MP4 boxes that this server would not have written.
 */

/** Bytes are not what this server writes: a file is damaged, or another program has changed it. */
export class MalformedMp4Error extends Error {
  readonly code = 'malformed_mp4';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedMp4Error';
  }
}
