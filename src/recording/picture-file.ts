/**
 * Where the pictures of a recording are: in a file for each period (`pictures.0`, `pictures.1`, ...), one after another. The index says
 * where each begins.
 */
import type { PictureKind } from '#media/picture.ts';

/** The name of the file with the pictures of a period. */
export const picturesName = (period: number): string => `pictures.${period}`;

/** Where a picture is. */
export interface PlacedPicture {
  readonly kind: PictureKind;
  /** The session time at which it was shown, in milliseconds. */
  readonly atMs: number;
  readonly period: number;
  readonly offset: number;
  readonly sizeBytes: number;
}
