/**
 * Where the pictures of a recording are: each period has a file (`pictures.0`, `pictures.1`, ...) with its pictures one after another. The
 * index states where each begins.
 */
import type { PictureKind } from '#media/picture.ts';

/** The name of the file with the pictures of a period. */
export const picturesName = (period: number): string => `pictures.${period}`;

/** A kept picture, and where its bytes are: in the file of a period, from `offset` on. */
export interface PlacedPicture {
  readonly kind: PictureKind;
  /** The session time at which it was shown, in milliseconds. */
  readonly atMs: number;
  readonly period: number;
  readonly offset: number;
  readonly sizeBytes: number;
}
