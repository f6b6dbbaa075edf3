/**
 * The one URL of each resource, without scheme and host, as playlists name it and as players ask for it.
 *
 * The same resource is also answered under other spellings: parameters nobody knows, directives in another order, escapes that are not
 * needed, a slash at the end. There is no end of those, so no cache may keep what it gets under one of them.
 */
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { PlaylistDirectives } from '#hls/hls.ts';

/** The multivariant playlist. */
export const multivariantUrl = (playbackId: PlaybackId): string => `/hls/${playbackId}/index.m3u8`;

/** The thumbnail. */
export const thumbnailUrl = (playbackId: PlaybackId): string => `/hls/${playbackId}/thumbnail.jpg`;

/** A media playlist, with directives in the order of their names (rfc8216bis §6.2.5). */
export function playlistUrl(
  playbackId: PlaybackId,
  mediaPath: MediaPath,
  rendition: string,
  { msn, part, skip }: PlaylistDirectives,
): string {
  const directives: string[] = [];
  if (msn !== undefined) directives.push(`_HLS_msn=${msn}`);
  if (part !== undefined) directives.push(`_HLS_part=${part}`);
  if (skip) directives.push('_HLS_skip=YES');
  const query = directives.length === 0 ? '' : `?${directives.join('&')}`;
  return `/hls/${playbackId}/${mediaPath}/${rendition}.m3u8${query}`;
}

/** An init segment, a segment or a part. */
export const mediaUrl = (playbackId: PlaybackId, mediaPath: MediaPath, rendition: string, name: string): string =>
  `/hls/${playbackId}/${mediaPath}/${rendition}/${name}`;
