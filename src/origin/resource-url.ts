/**
 * The one URL of each resource, without scheme and host, as playlists name it and as players request it.
 *
 * Requests for the same resource may be spelled in other ways: with unknown parameters, with directives in another order, with needless
 * escapes, or with a slash at the end. They are answered, too. Because their number is unlimited, no cache may keep their answers.
 */
import type { MediaPath, PlaybackId } from '#domain/ids.ts';
import type { PlaylistDirectives } from '#hls/hls.ts';

/** The URL of a stream's multivariant playlist. */
export const multivariantUrl = (playbackId: PlaybackId): string => `/hls/${playbackId}/index.m3u8`;

/** The URL of a stream's thumbnail. */
export const thumbnailUrl = (playbackId: PlaybackId): string => `/hls/${playbackId}/thumbnail.jpg`;

/** The URL of a media playlist, with its directives in the order of their names (rfc8216bis §6.2.5). */
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

/** The URL of an init segment, a segment or a part. */
export const mediaUrl = (playbackId: PlaybackId, mediaPath: MediaPath, rendition: string, name: string): string =>
  `/hls/${playbackId}/${mediaPath}/${rendition}/${name}`;

/** The URL of media of a restricted stream. `restricted-playlists.ts` explains the proof. */
export const restrictedMediaUrl = (
  playbackId: PlaybackId,
  mediaPath: MediaPath,
  proof: string,
  rendition: string,
  name: string,
): string => `/hls/${playbackId}/${mediaPath}/s/${proof}/${rendition}/${name}`;
