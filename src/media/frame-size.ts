/**
 * Limits the size of the frames that a publisher may send: the memory of a decoder grows with the frames it has to keep.
 */
import { InvalidCodecConfigError } from './invalid-codec-config.ts';

/** The most luma samples of a frame: 4096x2304, the frame size of H.264 level 5.2 (ITU-T H.264 Table A-1). */
export const MAX_FRAME_SAMPLES = 4096 * 2304;
/** The longest side of a frame of that level, in samples: sqrt(8 * MaxFS) macroblocks (§A.3.1). */
export const MAX_FRAME_SIDE = 543 * 16;

/**
 * Makes sure that frames of this size are small enough to be decoded. The limits are the same for all codecs.
 * @param what names the source of the size in the error message: `The SPS`
 * @param width and `height` in luma samples as decoded, before cropping
 * @throws {InvalidCodecConfigError} when the frames are too large
 */
export function assertFrameSize(what: string, width: number, height: number): void {
  if (width <= MAX_FRAME_SIDE && height <= MAX_FRAME_SIDE && width * height <= MAX_FRAME_SAMPLES) return;
  throw new InvalidCodecConfigError(
    `${what} states a frame of ${width}x${height} pixels. At most 4096x2304 are allowed, or as many pixels in another shape with no side above ${MAX_FRAME_SIDE}. Set the encoder to smaller frames.`,
  );
}
