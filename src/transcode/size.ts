/**
 * Sizes of frames and pictures.
 */

/** A size in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The number of pixels. */
export const areaOf = ({ width, height }: Size): number => width * height;
