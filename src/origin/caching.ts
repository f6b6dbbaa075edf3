/**
 * How long caches between Millrace and a viewer may store each kind of answer (rfc8216bis Appendix B.1): media in every cache, playlists
 * only in shared caches. Times are multiples of the target duration, so that a standard cache that obeys `Cache-Control` works as a CDN.
 *
 * No error may be stored. Names of media are predictable, so a stored error for a segment that was requested too early would be given to
 * everybody after the segment exists.
 */

/** The kinds of answers, by how long they stay valid. */
export type AnswerKind =
  | 'blocking_playlist' // final: the URL names the state of the playlist that the request waited for
  | 'playlist' // the current state
  | 'thumbnail' // replaced every few seconds
  | 'media' // never changes; its name is never used again
  | 'recorded_media' // a part of a recording, which never changes, and is gone once the recording is deleted
  | 'recorded_file' // a playlist, MP4 or picture of a recording that has ended, or its media before it is durable
  | 'restricted' // depends on the viewer: no cache may keep it, not even that of a browser, which may be shared
  | 'unshared'; // may change within a second, or is for this request only

/** Gives the `Cache-Control` of a kind of answer. */
export type CacheControl = (kind: AnswerKind) => string;

/**
 * Makes the `Cache-Control` values for a target duration.
 * @param targetDurationS EXT-X-TARGETDURATION, in seconds
 */
export function cacheControlFor(targetDurationS: number): CacheControl {
  const seconds = (targetDurations: number) => Math.max(1, Math.floor(targetDurations * targetDurationS));
  // A playlist changes several times a second. A browser that stored one would return the stored one when a player reloads it: video.js
  // repeats the URL of a blocking reload, and stalled for as long as the answer could be stored.
  const sharedOnly = (targetDurations: number) => `max-age=0, s-maxage=${seconds(targetDurations)}`;
  const byKind: Readonly<Record<AnswerKind, string>> = {
    blocking_playlist: sharedOnly(6),
    playlist: sharedOnly(0.5),
    thumbnail: 'max-age=5',
    media: `max-age=${seconds(6)}, immutable`,
    recorded_media: 'max-age=86400, immutable',
    recorded_file: 'max-age=60',
    restricted: 'private, no-store',
    unshared: 'no-store',
  };
  return (kind) => byKind[kind];
}

/** The number of milliseconds for which a `Cache-Control` header lets a shared cache keep an answer. 0 when it names no time. */
export function sharedMaxAgeMs(cacheControl: string): number {
  const shared = /(?:^|[ ,])s-maxage=(\d{1,9})(?:,|$)/.exec(cacheControl);
  const any = shared ?? /(?:^|[ ,])max-age=(\d{1,9})(?:,|$)/.exec(cacheControl);
  return Number(any?.[1] ?? 0) * 1000;
}
