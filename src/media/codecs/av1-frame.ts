/**
 * Reads the frame header of AV1 up to the size of its frame (AV1 specification §5.9.2).
 */
import { BitReader } from '#media/bit-reader.ts';
import { assertFrameSize } from '#media/frame-size.ts';
import type { Obu } from './av1-obu.ts';
import type { FrameHeaderLayout } from './av1-sequence.ts';

/** Types of frame (§6.8.2). */
const KEY_FRAME = 0;
const INTRA_ONLY_FRAME = 2;
const SWITCH_FRAME = 3;
const ALL_FRAMES = 0xff;
const REFERENCES = 7;
const KEPT_FRAMES = 8;

/**
 * Checks the size that a frame header states. Nothing after the size is read, and most frames, which have the size of the sequence, cost
 * only a few bits.
 * @param layout how frame headers must be read, from the sequence header in force
 * @throws {InvalidCodecConfigError} when the header ends early, or its frame is too large
 */
export function checkFrameSize({ payload, temporalId, spatialId }: Obu, layout: FrameHeaderLayout): void {
  const reader = new BitReader(payload, 'frame header');
  if (reader.flag()) return; // show_existing_frame
  const type = reader.bits(2);
  const isIntra = type === KEY_FRAME || type === INTRA_ONLY_FRAME;
  const isShown = reader.flag();
  if (isShown) reader.skip(layout.presentationTimeBits);
  else reader.skip(1); // showable_frame
  const isShownKeyFrame = type === KEY_FRAME && isShown;
  const isErrorResilient = type === SWITCH_FRAME || isShownKeyFrame || reader.flag();
  reader.skip(1); // disable_cdf_update
  const hasScreenContent = layout.screenContent ?? reader.flag();
  if (hasScreenContent && layout.choosesIntegerMotion) reader.skip(1); // force_integer_mv
  reader.skip(layout.frameIdBits); // current_frame_id
  const hasOwnSize = type === SWITCH_FRAME || reader.flag(); // frame_size_override_flag
  if (!hasOwnSize) return;
  reader.skip(layout.orderHintBits); // order_hint
  if (!isIntra && !isErrorResilient) reader.skip(3); // primary_ref_frame
  if (layout.removalTimeBits !== undefined && reader.flag()) {
    for (const layers of layout.modelledPoints) {
      const isPart = layers === 0 || (((layers >> temporalId) & 1) === 1 && ((layers >> (spatialId + 8)) & 1) === 1);
      if (isPart) reader.skip(layout.removalTimeBits); // buffer_removal_time
    }
  }
  const refreshed = type === SWITCH_FRAME || isShownKeyFrame ? ALL_FRAMES : reader.bits(KEPT_FRAMES);
  if ((!isIntra || refreshed !== ALL_FRAMES) && isErrorResilient) reader.skip(KEPT_FRAMES * layout.orderHintBits);
  if (!isIntra) {
    skipReferences(reader, layout);
    // frame_size_with_refs(): a reference's size was checked with the reference.
    if (!isErrorResilient) for (let at = 0; at < REFERENCES; at++) if (reader.flag()) return;
  }
  const width = reader.bits(layout.widthBits) + 1;
  const height = reader.bits(layout.heightBits) + 1;
  assertFrameSize('A frame header', width, height);
}

function skipReferences(reader: BitReader, { orderHintBits, frameIdDifferenceBits }: FrameHeaderLayout): void {
  const isShort = orderHintBits > 0 && reader.flag(); // frame_refs_short_signaling
  if (isShort) reader.skip(3 + 3); // last_frame_idx, gold_frame_idx
  for (let at = 0; at < REFERENCES; at++) reader.skip((isShort ? 0 : 3) + frameIdDifferenceBits);
}
