/**
 * The largest picture that is taken from a publisher: a decoder's memory grows with the pictures it has to keep.
 */
import { InvalidCodecConfigError } from './invalid-codec-config.ts';

/** Luma samples of the largest picture: 4096x2304, the frame size of H.264 level 5.2 (ITU-T H.264 Table A-1). */
export const MAX_PICTURE_SAMPLES = 4096 * 2304;
/** The longest side of a picture of that level, in samples: sqrt(8 * MaxFS) macroblocks (§A.3.1). */
export const MAX_PICTURE_SIDE = 543 * 16;

/**
 * Makes sure that pictures of this size are small enough to be decoded, whichever codec they are of.
 * @param what states the size, for the message: `The SPS`
 * @param width and `height` in luma samples as decoded, before cropping
 * @throws {InvalidCodecConfigError} when they are larger
 */
export function assertPictureSize(what: string, width: number, height: number): void {
  if (width <= MAX_PICTURE_SIDE && height <= MAX_PICTURE_SIDE && width * height <= MAX_PICTURE_SAMPLES) return;
  throw new InvalidCodecConfigError(
    `${what} states a picture of ${width}x${height} pixels; at most 4096x2304, or as many in another shape with no side above ${MAX_PICTURE_SIDE}, are taken. Set the encoder to a smaller picture.`,
  );
}
