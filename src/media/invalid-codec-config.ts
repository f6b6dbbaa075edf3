/**
 * The error for every decoder configuration that cannot be used.
 */

/**
 * A publisher's decoder configuration is broken, or describes media that Millrace does not play.
 * The message is a sentence for the publisher. It may contain numbers read from the bytes, but never the bytes.
 */
export class InvalidCodecConfigError extends Error {
  readonly code = 'invalid_codec_config';

  constructor(message: string) {
    super(message);
    this.name = 'InvalidCodecConfigError';
  }
}
