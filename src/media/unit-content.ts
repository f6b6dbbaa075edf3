/**
 * What a look at an access unit tells without decoding it. The bitstream was asked, not whoever sent it.
 */
export interface UnitContent {
  /** A decoder can start here. */
  readonly keyframe: boolean;
  /**
   * There is nothing to be seen in it: parameter sets, messages or filler, which some encoders send apart from the picture they
   * belong to. Decoders take such a unit for a broken picture.
   */
  readonly empty: boolean;
}
