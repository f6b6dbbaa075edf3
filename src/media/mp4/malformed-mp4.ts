/**
 * The error for every MP4 box that this server did not write as it stands.
 */

/** Bytes are not what this server writes: a file is damaged, or was changed by somebody else. */
export class MalformedMp4Error extends Error {
  readonly code = 'malformed_mp4';

  constructor(message: string) {
    super(message);
    this.name = 'MalformedMp4Error';
  }
}
