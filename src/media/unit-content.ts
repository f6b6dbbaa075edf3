/**
 * What the bitstream of an access unit shows without being decoded. Flags that the publisher sends are not trusted.
 */
export interface UnitContent {
  /** Whether a decoder can start here. */
  readonly keyframe: boolean;
  /**
   * Whether it contains no frame, but only parameter sets, messages or filler, which some encoders send apart from the frame they
   * belong to. Decoders take such a unit for a broken frame.
   */
  readonly empty: boolean;
}
