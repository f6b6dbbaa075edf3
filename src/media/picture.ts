/**
 * Pictures that are made of a video, as JPEGs.
 */

/**
 * The kinds of pictures: a `poster` every 5 s, at most 640 pixels wide and 1280 high, and a `tile` every 10 s, for the sheets of
 * storyboards (`tile-sheet.ts`).
 */
export const PICTURE_KINDS = ['poster', 'tile'] as const;
/** A value of {@link PICTURE_KINDS}. */
export type PictureKind = (typeof PICTURE_KINDS)[number];

/** A picture. Its bytes never change. */
export interface Picture {
  readonly kind: PictureKind;
  /** The session time in seconds at which it is shown. */
  readonly atS: number;
  readonly jpeg: Uint8Array;
}

/** The size of a tile in pixels. A video of another shape has bars, so that all tiles of a sheet have the same size. */
export const TILE = { width: 160, height: 90 } as const;
