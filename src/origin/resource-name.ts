/**
 * The shapes of what a viewer can name. What has another shape is not looked up; what has the right one is only ever looked
 * up in a map, never joined to a path.
 */
import type { MediaPath, PlaybackId } from '#domain/ids.ts';

const RANDOM_ID = /^[0-9a-hjkmnp-tv-z]{16}$/;
const NAME = /^[A-Za-z0-9_~-][A-Za-z0-9_.-]{0,127}$/;

/** A playback id as {@link newPlaybackId} makes them. */
export function isPlaybackId(text: string): text is PlaybackId {
  return RANDOM_ID.test(text);
}

/** A media path as {@link newMediaPath} makes them. */
export function isMediaPath(text: string): text is MediaPath {
  return RANDOM_ID.test(text);
}

/** A rendition id, or the name of a segment, part or init segment. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** The rendition whose media playlist a file name is: `source.m3u8` gives `source`; undefined for any other name. */
export function playlistRendition(file: string): string | undefined {
  const rendition = file.endsWith('.m3u8') ? file.slice(0, -'.m3u8'.length) : '';
  return isName(rendition) ? rendition : undefined;
}
