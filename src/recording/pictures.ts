/**
 * Selects the pictures of a recording that belong to an excerpt.
 */

import type { SegmentSpan } from './needed-segments.ts';
import type { PlacedPicture } from './picture-file.ts';
import type { RecordedRendition } from './recording-index.ts';

/** A tile of a storyboard, with its position in the playlist of an excerpt, in seconds. */
export interface StoryboardTile {
  readonly picture: PlacedPicture;
  readonly positionS: number;
}

/** A span of session time in milliseconds, the end excluded. */
export interface SessionSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The tiles for a playlist, in order. Tiles of times for which nothing was recorded are left out.
 * @param leader the leading rendition of the recording
 * @param segments the segments of the playlist
 * @returns also the length of the playlist in seconds
 */
export function tilesOf(
  pictures: readonly PlacedPicture[],
  leader: RecordedRendition,
  segments: SegmentSpan,
  { fromMs, untilMs }: SessionSpan,
): { readonly tiles: readonly StoryboardTile[]; readonly endS: number } {
  const tiles: StoryboardTile[] = [];
  const waiting = pictures.values().filter(({ kind, atMs }) => kind === 'tile' && atMs >= fromMs && atMs < untilMs);
  let next = waiting.next();
  let endS = 0;
  const { startsS, durationsS, numbers } = leader.segments.columns;
  for (let at = leader.segments.indexFrom(segments.first); at < leader.completeCount; at += 1) {
    if (numbers[at]! > segments.last) break;
    const startS = startsS[at]!;
    const durationS = durationsS[at]!;
    for (; !next.done && next.value.atMs / 1000 < startS + durationS; next = waiting.next()) {
      const insideS = next.value.atMs / 1000 - startS;
      if (insideS >= 0) tiles.push({ picture: next.value, positionS: endS + insideS });
      // The first picture of a session may be a little older than the first recorded segment.
      else if (endS === 0) tiles[0] = { picture: next.value, positionS: 0 };
    }
    endS += durationS;
  }
  return { tiles, endS };
}

/** The newest poster of a span that was shown at `atMs` or before. When there is none, the first poster of the span. */
export function posterAt(
  pictures: readonly PlacedPicture[],
  { fromMs, untilMs }: SessionSpan,
  atMs: number,
): PlacedPicture | undefined {
  const posters = pictures.filter((each) => each.kind === 'poster' && each.atMs >= fromMs && each.atMs < untilMs);
  return posters.findLast((each) => each.atMs <= atMs) ?? posters[0];
}
