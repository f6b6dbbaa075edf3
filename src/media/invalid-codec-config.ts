/**
 * The one error that every decoder configuration we cannot use ends in.
 */

/**
 * A publisher's decoder configuration is broken or describes something Millrace does not play.
 * Its message is a sentence that can be told to the publisher; it holds numbers read from the bytes, never the bytes.
 */
export class InvalidCodecConfigError extends Error {
  readonly code = 'invalid_codec_config';

  constructor(message: string) {
    super(message);
    this.name = 'InvalidCodecConfigError';
  }
}
